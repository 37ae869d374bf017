// Takes the fields of an index file off its front, one after the other. A count is held against the
// bytes that are left before anything relies on it, so a file that promises much costs nothing.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace cait {

static_assert(std::endian::native == std::endian::little, "FAISS writes as the machine has it");

// Numbers in a file, where nothing is aligned.
template <class T>
class StoredArray {
public:
    StoredArray() = default;
    explicit StoredArray(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::size_t size() const { return bytes_.size() / sizeof(T); }
    T operator[](std::size_t i) const {
        T value{};
        std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
        return value;
    }

private:
    std::span<const std::byte> bytes_;
};

class IndexFields {
public:
    // Messages open with `name`, a file's, and what was `expected` of it.
    IndexFields(std::span<const std::byte> bytes, const std::string& name, std::string expected);

    [[noreturn]] void fail(const std::string& why) const;

    template <class T>
    T take() {
        T value{};
        std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
        return value;
    }
    std::span<const std::byte> take_bytes(std::uint64_t count);
    std::string take_tag();                  // four letters that say what follows
    bool take_flag(std::string_view field);  // a byte that is 0 or 1
    std::uint64_t take_number(std::string_view field, std::uint64_t least, std::uint64_t most);

    // `count` numbers.
    template <class T>
    StoredArray<T> take_numbers(std::string_view field, std::uint64_t count) {
        check_held(field, count, sizeof(T));
        return StoredArray<T>(take_bytes(count * sizeof(T)));
    }
    // A count, then as many numbers.
    template <class T>
    StoredArray<T> take_array(std::string_view field) {
        return take_numbers<T>(field, take<std::uint64_t>());
    }
    // The same where the count is known before.
    template <class T>
    StoredArray<T> take_array(std::string_view field, std::uint64_t expected) {
        const StoredArray<T> found = take_array<T>(field);
        if (found.size() != expected) fail_count(field, expected, found.size());
        return found;
    }

    void check_finite(std::string_view field, const StoredArray<float>& values) const {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!std::isfinite(values[i])) fail_number(field, i);
    }

    std::size_t left() const { return left_.size(); }

private:
    void check_held(std::string_view field, std::uint64_t count, std::size_t size) const;
    [[noreturn]] void fail_count(std::string_view field, std::uint64_t expected,
                                 std::uint64_t found) const;
    [[noreturn]] void fail_number(std::string_view field, std::size_t at) const;

    std::span<const std::byte> left_;
    std::string name_;
    std::string expected_;
};

}  // namespace cait
