#include "data/sentences/protobuf_fields.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

void ProtobufFields::fail(const std::string& what) const {
    throw Error(fmt::format("{}: {}", where_, what));
}

std::uint64_t ProtobufFields::read_varint() {
    constexpr int kMostBits = 64;
    std::uint64_t value = 0;
    for (int shift = 0; shift < kMostBits; shift += 7) {
        const auto byte = static_cast<unsigned char>(take(1)[0]);
        value |= std::uint64_t(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    fail(fmt::format("expected a number of at most ten bytes at byte {}, found more", at_));
}

std::string_view ProtobufFields::take(std::size_t size) {
    if (size > bytes_.size() - at_)
        fail(fmt::format("truncated: a field at byte {} needs {} bytes, found {}", at_, size,
                         bytes_.size() - at_));
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
}

bool ProtobufFields::next() {
    if (at_ == bytes_.size()) return false;
    const std::size_t start = at_;
    const std::uint64_t key = read_varint();
    constexpr std::uint64_t kMostFields = (std::uint64_t{1} << 29) - 1;
    if (key >> 3 == 0 || key >> 3 > kMostFields)
        fail(fmt::format("expected a field at byte {}, found number {}", start, key >> 3));
    number_ = std::uint32_t(key >> 3);
    wire_ = Wire(key & 7);
    const auto little_endian = [](std::string_view bytes) {
        std::uint64_t value = 0;
        for (std::size_t i = bytes.size(); i-- > 0;)
            value = (value << 8) | static_cast<unsigned char>(bytes[i]);
        return value;
    };
    content_ = {};
    switch (wire_) {
        case Wire::varint: value_ = read_varint(); return true;
        case Wire::fixed64: value_ = little_endian(take(8)); return true;
        case Wire::fixed32: value_ = little_endian(take(4)); return true;
        case Wire::bytes: {
            const std::uint64_t size = read_varint();
            if (size > bytes_.size() - at_)
                fail(fmt::format("truncated: field {} at byte {} says {} bytes, found {}", number_,
                                 start, size, bytes_.size() - at_));
            content_ = take(std::size_t(size));
            return true;
        }
    }
    fail(fmt::format("expected a field at byte {}, found one of an unknown kind", start));
}

void ProtobufFields::expect(Wire wire, const char* name) const {
    if (wire_ != wire) fail(fmt::format("{}: the field is written as something else", name));
}

std::string_view ProtobufFields::bytes(const char* name) const {
    expect(Wire::bytes, name);
    return content_;
}

std::string_view ProtobufFields::text(const char* name) const {
    expect(Wire::bytes, name);
    if (!is_utf8(content_) || content_.find('\0') != std::string_view::npos)
        fail(fmt::format("{}: expected UTF-8 text", name));
    return content_;
}

std::int64_t ProtobufFields::integer(const char* name) const {
    expect(Wire::varint, name);
    return std::int64_t(value_);
}

float ProtobufFields::number32(const char* name) const {
    expect(Wire::fixed32, name);
    const auto value = std::bit_cast<float>(std::uint32_t(value_));
    if (!std::isfinite(value)) fail(fmt::format("{}: expected a finite number", name));
    return value;
}

}  // namespace cait
