// Helpers of the data tests: small images and data sets made on the spot, and the text of an
// expected Error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cait/error.h"
#include "data/dataset.h"
#include "data/levels.h"
#include "image/codec/encode.h"
#include "support/temporary_folder.h"

namespace cait::data_test {

namespace fs = std::filesystem;

// An image whose pixels tell its number: red = number, green = x, blue = y.
inline Image numbered_image(int number, std::int64_t width = 6, std::int64_t height = 4) {
    Image image = Image::blank(width, height, 3);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            std::uint8_t* pixel = image.row(y) + 3 * x;
            pixel[0] = std::uint8_t(number);
            pixel[1] = std::uint8_t(x);
            pixel[2] = std::uint8_t(y);
        }
    return image;
}

inline std::string png(const Image& image) {
    const std::vector<std::byte> bytes = encode_png(image);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes a file and the folders above it.
inline void put(const fs::path& path, std::string_view content) {
    fs::create_directories(path.parent_path());
    write_file(path, content);
}

inline void put_image(const fs::path& path, int number = 0) {
    put(path, png(numbered_image(number)));
}

// `classes` folders class0, class1, … of `each` images; image numbers count through.
inline void put_class_folders(const fs::path& root, int classes, int each) {
    for (int c = 0; c < classes; ++c)
        for (int i = 0; i < each; ++i)
            put_image(root / ("class" + std::to_string(c)) / (std::to_string(i) + ".png"),
                      c * each + i);
}

// Red of the first pixel: the number given to numbered_image().
inline std::vector<int> numbers_of(const Dataset& dataset) {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < dataset.size(); ++i)
        numbers.push_back(dataset.image(i).pixels.at(0));
    return numbers;
}

struct Failure {
    std::string message;
    ErrorKind kind = ErrorKind::data;
};

// What `action` throws; every message has to be one line.
inline Failure failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos)
            << error.what();
        return {error.what(), error.kind()};
    }
    ADD_FAILURE() << "expected an Error";
    return {};
}

inline std::string error_of(const std::function<void()>& action) {
    return failure_of(action).message;
}

// The folder of real data sets that the environment names, if any.
inline std::optional<fs::path> real_data(const std::string& name) {
    const char* root = std::getenv("CAIT_DATA");
    if (root == nullptr || !fs::exists(fs::path(root) / name)) return std::nullopt;
    return fs::path(root) / name;
}

// An IDX file of bytes that are all the same; extents below 256.
inline std::string uniform_idx(const std::vector<int>& extents, int value) {
    std::string bytes{"\0\0\x08", 3};
    bytes += char(extents.size());
    std::size_t count = 1;
    for (const int extent : extents) {
        bytes += std::string("\0\0\0", 3) + char(extent);
        count *= std::size_t(extent);
    }
    return bytes + std::string(count, char(value));
}

}  // namespace cait::data_test
