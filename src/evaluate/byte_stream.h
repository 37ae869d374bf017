// Values as bytes and back, for parts of a measurement that one process sends to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cait/error.h"

namespace cait {

class ByteWriter {
public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* begin = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), begin, begin + sizeof value);
    }
    template <class Range>
    void put_all(const Range& values) {
        put(std::uint64_t(values.size()));
        for (const auto& value : values) put(value);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

class PackedReader {
public:
    explicit PackedReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        if (bytes_.size() < sizeof(T)) fail();
        T value;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_ = bytes_.subspan(sizeof value);
        return value;
    }
    // How many values of `size` bytes follow: checked before anything is allocated for them.
    std::size_t get_count(std::size_t size) {
        const auto count = get<std::uint64_t>();
        if (count > bytes_.size() / size) fail();
        return std::size_t(count);
    }
    template <class T>
    std::vector<T> get_all() {
        std::vector<T> values(get_count(sizeof(T)));
        for (T& value : values) value = get<T>();
        return values;
    }
    bool empty() const { return bytes_.empty(); }
    [[noreturn]] static void fail() {
        throw Error("metrics: expected what another process packed, found other bytes");
    }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace cait
