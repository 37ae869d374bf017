#include "evaluate/index/index_fields.h"

#include <fmt/format.h>

#include <utility>

#include "cait/error.h"

namespace cait {

IndexFields::IndexFields(std::span<const std::byte> bytes, const std::string& name,
                         std::string expected)
    : left_(bytes), name_(name), expected_(std::move(expected)) {}

void IndexFields::fail(const std::string& why) const {
    throw Error(fmt::format("{}: expected {}: {}", name_, expected_, why));
}

std::span<const std::byte> IndexFields::take_bytes(std::uint64_t count) {
    if (count > left_.size()) fail("it ends too early");
    const std::span<const std::byte> bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
}

std::string IndexFields::take_tag() {
    const std::span<const std::byte> bytes = take_bytes(4);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IndexFields::take_flag(std::string_view field) {
    const auto value = take<std::uint8_t>();
    if (value > 1) fail(fmt::format("{}: expected 0 or 1, found {}", field, value));
    return value == 1;
}

std::uint64_t IndexFields::take_number(std::string_view field, std::uint64_t least,
                                       std::uint64_t most) {
    const auto value = take<std::uint64_t>();
    if (value < least || value > most)
        fail(fmt::format("{}: expected {} to {}, found {}", field, least, most, value));
    return value;
}

void IndexFields::check_held(std::string_view field, std::uint64_t count, std::size_t size) const {
    if (count > left_.size() / size)
        fail(fmt::format("{}: {} numbers of {} bytes, but only {} bytes are left", field, count,
                         size, left_.size()));
}

void IndexFields::fail_count(std::string_view field, std::uint64_t expected,
                             std::uint64_t found) const {
    fail(fmt::format("{}: expected {} numbers, found {}", field, expected, found));
}

void IndexFields::fail_number(std::string_view field, std::size_t at) const {
    fail(fmt::format("{}: number {} is not finite", field, at));
}

}  // namespace cait
