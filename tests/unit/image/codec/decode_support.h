// Helpers of the image tests: fixtures, files made by hand, and the ImageError that is expected.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "image/codec/decode.h"
#include "support/source_path.h"

namespace cait::test {

inline std::filesystem::path decode_data(const std::string& name) {
    return test::source_path(__FILE__).parent_path() / "../data/decode" / name;
}

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// FNV-1a over 64-bit little-endian words (the last one padded with zeros), as in make_images.py.
inline std::uint64_t checksum(std::span<const std::uint8_t> data) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (std::size_t i = 0; i < data.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data() + i, std::min<std::size_t>(8, data.size() - i));
        value = (value ^ word) * 0x100000001b3;
    }
    return value;
}

struct Refusal {
    ImageError::Why why;
    std::string message;
};

// Empty when the bytes were decoded. The message is checked to be one line that opens with the
// name.
inline std::optional<Refusal> refusal(std::string_view bytes, const DecodeOptions& options = {}) {
    try {
        decode_image(bytes_of(bytes), "file.img", options);
        return std::nullopt;
    } catch (const ImageError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("file.img: ")) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        EXPECT_EQ(error.kind(), ErrorKind::data);
        return Refusal{error.why(), message};
    }
}

inline std::string refusal_text(std::string_view bytes, const DecodeOptions& options = {}) {
    const auto refused = refusal(bytes, options);
    return refused ? refused->message : "(decoded)";
}

}  // namespace cait::test
