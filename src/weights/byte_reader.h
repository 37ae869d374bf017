// A cursor over untrusted bytes: every read is checked against what is left, so that no parser
// indexes by hand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cait {

static_assert(std::endian::native == std::endian::little, "every weight format is little-endian");

class ByteReader {
public:
    // `where` opens every error message: the file, perhaps with the part of it.
    ByteReader(std::span<const std::byte> bytes, std::string where)
        : bytes_(bytes), where_(std::move(where)) {}

    std::size_t position() const noexcept { return position_; }
    std::size_t remaining() const noexcept { return bytes_.size() - position_; }
    const std::string& where() const noexcept { return where_; }

    // All of these throw Error ("truncated") when fewer bytes are left.
    std::span<const std::byte> take(std::uint64_t count);
    std::string_view text(std::uint64_t count);
    std::string_view line();  // up to and without '\n', which is consumed

    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }

private:
    std::span<const std::byte> bytes_;
    std::string where_;
    std::size_t position_ = 0;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace cait
