// The wire format of protocol buffers, writing side: just the kinds of field that events need.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace cait {

class ProtobufWriter {
public:
    ProtobufWriter& integer(int field, std::int64_t value) {
        key(field, 0);
        varint(std::uint64_t(value));
        return *this;
    }
    ProtobufWriter& number(int field, double value) {
        key(field, 1);
        fixed(std::bit_cast<std::uint64_t>(value));
        return *this;
    }
    ProtobufWriter& number(int field, float value) {
        key(field, 5);
        fixed(std::bit_cast<std::uint32_t>(value));
        return *this;
    }
    // A string, bytes or a message: all are a length and that many bytes.
    ProtobufWriter& bytes(int field, std::string_view value) {
        key(field, 2);
        varint(value.size());
        out_.append(value);
        return *this;
    }
    ProtobufWriter& message(int field, const ProtobufWriter& value) {
        return bytes(field, value.out_);
    }
    const std::string& str() const { return out_; }

private:
    void key(int field, unsigned wire) { varint(std::uint64_t(field) << 3 | wire); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_ += char(value | 0x80);
        out_ += char(value);
    }
    template <std::unsigned_integral T>
    void fixed(T value) {  // lowest byte first
        for (unsigned i = 0; i < sizeof(T); ++i) out_ += char(value >> (8 * i));
    }

    std::string out_;
};

}  // namespace cait
