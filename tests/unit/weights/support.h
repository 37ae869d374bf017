// Helpers of the weight tests: fixture paths, files made by hand, and the text of an expected
// Error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/convert.h"
#include "cait/error.h"
#include "support/source_path.h"
#include "weights/weight_file.h"

namespace cait::test {

inline std::filesystem::path data(const std::string& name) {
    return test::source_path(__FILE__).parent_path() / "data" / name;
}

// A folder that goes away with the test.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "cait-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

template <class T>
std::string little_endian(T value) {
    std::string text(sizeof value, '\0');
    std::memcpy(text.data(), &value, sizeof value);
    return text;
}

inline std::string safetensors(std::string_view header, std::string_view content = "") {
    return little_endian<std::uint64_t>(header.size()) + std::string(header) + std::string(content);
}

// Opens a file that consists of `bytes`.
inline WeightFile open_bytes(const std::string& bytes, const OpenOptions& options = {}) {
    const auto owner = std::make_shared<const std::string>(bytes);
    return open_weights_bytes(owner, as_bytes(*owner), "file", options);
}

// The message of the Error that `action` throws; every message has to be one line.
template <class Action>
std::string error_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        return message;
    }
    ADD_FAILURE() << "expected an Error";
    return {};
}

inline std::string open_error(const std::string& bytes) {
    return error_of([&] { open_bytes(bytes); });
}

inline const Tensor& find(const WeightFile& file, std::string_view name) {
    for (const NamedTensor& entry : file.tensors)
        if (entry.name == name) return entry.tensor;
    throw Error("no tensor " + std::string(name));
}

inline std::vector<std::string> names(const WeightFile& file) {
    std::vector<std::string> result;
    for (const NamedTensor& entry : file.tensors) result.push_back(entry.name);
    return result;
}

inline std::vector<float> values(const Tensor& tensor) {
    const Tensor floats = convert(tensor, DType::f32);
    return {floats.floats().begin(), floats.floats().end()};
}

// Equal to the last bit: dtype, shape and content.
inline void expect_same(const Tensor& a, const Tensor& b, const std::string& name) {
    EXPECT_EQ(a.dtype(), b.dtype()) << name;
    EXPECT_EQ(a.shape(), b.shape()) << name;
    ASSERT_EQ(a.byte_size(), b.byte_size()) << name;
    EXPECT_EQ(std::memcmp(a.bytes(), b.bytes(), a.byte_size()), 0) << name;
}

inline void expect_same(const WeightFile& a, const WeightFile& b) {
    EXPECT_EQ(a.tensors.size(), b.tensors.size());
    for (const NamedTensor& entry : a.tensors)
        expect_same(entry.tensor, find(b, entry.name), entry.name);
}

}  // namespace cait::test
