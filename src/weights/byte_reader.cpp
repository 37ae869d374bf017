#include "weights/byte_reader.h"

#include <fmt/format.h>

#include "cait/error.h"

namespace cait {

std::span<const std::byte> ByteReader::take(std::uint64_t count) {
    if (count > remaining())
        throw Error(fmt::format("{}: truncated: expected {} more bytes at {}, found {}", where_,
                                count, position_, remaining()));
    const auto taken = bytes_.subspan(position_, std::size_t(count));
    position_ += std::size_t(count);
    return taken;
}

std::string_view ByteReader::text(std::uint64_t count) { return as_text(take(count)); }

std::string_view ByteReader::line() {
    const std::string_view rest = as_text(bytes_.subspan(position_));
    const std::size_t length = rest.find('\n');
    if (length == std::string_view::npos)
        throw Error(fmt::format("{}: truncated: a line at {} has no end", where_, position_));
    position_ += length + 1;
    return rest.substr(0, length);
}

}  // namespace cait
