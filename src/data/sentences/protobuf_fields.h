// Walks over the fields of a protocol buffer that may be anybody's: what SentencePiece's models are
// written in. Only the wire format; who walks knows what the numbers mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cait {

class ProtobufFields {
public:
    enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

    // `where` opens the messages: the file and, of a message inside another, its name.
    ProtobufFields(std::string_view bytes, std::string where)
        : bytes_(bytes), where_(std::move(where)) {}

    // Steps to the next field; false at the end. Throws Error for bytes that are no fields.
    bool next();

    std::uint32_t number() const noexcept { return number_; }
    // Each throws Error where the field is written as something else. `name` is for the message.
    std::string_view bytes(const char* name) const;
    std::string_view text(const char* name) const;  // UTF-8 without NUL
    std::int64_t integer(const char* name) const;
    bool flag(const char* name) const { return integer(name) != 0; }
    float number32(const char* name) const;  // finite

    [[noreturn]] void fail(const std::string& what) const;

private:
    std::uint64_t read_varint();
    std::string_view take(std::size_t size);
    void expect(Wire wire, const char* name) const;

    std::string_view bytes_;
    std::string where_;
    std::size_t at_ = 0;
    std::uint32_t number_ = 0;
    Wire wire_ = Wire::varint;
    std::uint64_t value_ = 0;  // of a varint or a fixed field
    std::string_view content_;
};

}  // namespace cait
