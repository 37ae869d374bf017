#include "image/codec/exif.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "image/codec/byte_order.h"

namespace cait {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPrefix = "Exif\0\0"sv;
constexpr std::size_t kEntrySize = 12;
constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShort = 3;
constexpr std::uint32_t kLong = 4;

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
    while (starts_with(exif, kPrefix)) exif = exif.subspan(kPrefix.size());
    ByteOrder order = ByteOrder::big;
    if (starts_with(exif, "II*\0"sv))
        order = ByteOrder::little;
    else if (!starts_with(exif, "MM\0*"sv))
        return 1;
    const auto read = [&](std::uint64_t at, std::size_t count) {
        return read_unsigned(exif, std::size_t(at), count, order);
    };

    const auto directory = read(4, 4);
    if (!directory) return 1;
    const auto entries = read(*directory, 2);
    if (!entries) return 1;
    for (std::uint32_t i = 0; i < *entries; ++i) {
        const std::uint64_t entry = std::uint64_t(*directory) + 2 + i * kEntrySize;
        const auto tag = read(entry, 2);
        if (!tag) return 1;
        if (*tag != kOrientationTag) continue;
        const auto type = read(entry + 2, 2);
        if (type != kShort && type != kLong) return 1;
        const auto value = read(entry + 8, type == kShort ? 2 : 4);
        return value && *value >= 1 && *value <= 8 ? int(*value) : 1;
    }
    return 1;
}

}  // namespace cait
