// Helpers of the tests of label images: small ones made on the spot.
#pragma once

#include <numeric>

#include "unit/data/support.h"

namespace cait::data_test {

// 6x4, as put_image() makes images: the left half is of one class, the right half of another.
inline Image halves(std::uint8_t left, std::uint8_t right) {
    Image image = Image::blank(6, 4, 1);
    for (std::int64_t y = 0; y < 4; ++y)
        for (std::int64_t x = 0; x < 6; ++x) image.row(y)[x] = x < 3 ? left : right;
    return image;
}

// An image, and a label image of two halves.
inline void put_pair(const fs::path& image, const fs::path& label, int number, std::uint8_t left,
                     std::uint8_t right) {
    put_image(image, number);
    put(label, png(halves(left, right)));
}

// One row with these numbers; a label image is read without its image.
inline std::string numbers_png(const std::vector<std::uint8_t>& numbers) {
    return png({std::int64_t(numbers.size()), 1, 1, numbers});
}

// 0, 1, … up to `last`, then 255.
inline std::vector<std::uint8_t> all_numbers(std::uint8_t last) {
    std::vector<std::uint8_t> numbers(std::size_t(last) + 1);
    std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
    numbers.push_back(kIgnored);
    return numbers;
}

// What stands in the left and in the right half.
inline std::pair<int, int> halves_of(const Dataset& dataset, std::size_t index) {
    const LabelImage labels = dataset.label_image(index);
    return {labels.values.front(), labels.values.back()};
}

}  // namespace cait::data_test
