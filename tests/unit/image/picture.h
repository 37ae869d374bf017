// The picture that tests/golden/make_augment.py uses, and the results it stored.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "image/image.h"
#include "support/source_path.h"
#include "weights/safetensors.h"

namespace cait::test {

// Slopes with a little noise, and blocks of nothing but noise.
inline Image picture(std::int64_t width, std::int64_t height, std::int64_t channels) {
    Image image = Image::blank(width, height, channels);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t c = 0; c < channels; ++c) {
                auto mixed =
                    std::uint32_t(x * 374761393 + y * 668265263 + c * std::int64_t(2246822519));
                mixed = (mixed ^ (mixed >> 13)) * 1274126177U;
                const std::int64_t slope = std::abs((x * 9 + y * 5 + c * 85) % 510 - 255) * 7 / 8 +
                                           std::int64_t(mixed >> 28);
                const bool noisy = (x / 8 + y / 8) % 3 == 0;
                image.row(y)[x * channels + c] = std::uint8_t(
                    noisy ? mixed >> 24 : std::uint32_t(std::min(slope, std::int64_t(255))));
            }
    return image;
}

// Both sizes of "40x30".
inline std::pair<std::int64_t, std::int64_t> sizes(const std::string& text) {
    const std::size_t cross = text.find('x');
    return {std::stoll(text.substr(0, cross)), std::stoll(text.substr(cross + 1))};
}

// A stored tensor; its name, in words, says how it was made.
struct Golden {
    std::vector<std::string> words;
    Tensor tensor;

    Image image() const {
        const Shape& shape = tensor.shape();
        Image result = Image::blank(shape[1], shape[0], shape[2]);
        std::memcpy(result.pixels.data(), tensor.bytes(), result.pixels.size());
        return result;
    }
    // Copied, for a tensor in the file need not be aligned.
    template <class Number>
    std::vector<Number> numbers() const {
        std::vector<Number> values(tensor.byte_size() / sizeof(Number));
        std::memcpy(values.data(), tensor.bytes(), tensor.byte_size());
        return values;
    }
    std::string name() const {
        std::string text;
        for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
        return text;
    }
};

// Those of the file whose first word is `first`, or, without it, all.
inline std::vector<Golden> golden(const std::filesystem::path& file,
                                  const std::string& first = "") {
    std::vector<Golden> found;
    for (const NamedTensor& named : TensorFile::open(file).tensors) {
        std::istringstream stream(named.name);
        Golden one{{}, named.tensor};
        for (std::string word; stream >> word;) one.words.push_back(word);
        if (first.empty() || one.words.front() == first) found.push_back(std::move(one));
    }
    EXPECT_FALSE(found.empty()) << file << " has nothing called " << first;
    return found;
}

inline std::filesystem::path image_data() {
    return test::source_path(__FILE__).parent_path() / "data" / "operations.safetensors";
}

struct Difference {
    int most = 0;
    double equal_share = 1;
};

inline Difference compare(const Image& a, const Image& b) {
    if (a.pixels.size() != b.pixels.size()) return {256, 0};
    Difference result;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < a.pixels.size(); ++i) {
        const int difference = std::abs(int(a.pixels[i]) - int(b.pixels[i]));
        result.most = std::max(result.most, difference);
        equal += difference == 0 ? 1 : 0;
    }
    if (!a.pixels.empty()) result.equal_share = double(equal) / double(a.pixels.size());
    return result;
}

}  // namespace cait::test
