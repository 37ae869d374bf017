#include "image/codec/png_chunks.h"

#include <fmt/format.h>

#include <optional>

#include "image/codec/byte_order.h"
#include "image/codec/decode.h"
#include "image/codec/exif.h"

namespace cait {

namespace {

constexpr std::size_t kSignatureSize = 8;
constexpr std::size_t kHeaderSize = 13;

constexpr std::uint32_t chunk_name(const char (&text)[5]) {
    std::uint32_t name = 0;
    for (int i = 0; i < 4; ++i) name = name << 8 | std::uint32_t(text[i]);
    return name;
}

struct Chunk {
    std::uint32_t name;
    std::span<const std::byte> content;
};

// Empty when less than a whole chunk is left.
std::optional<Chunk> take_chunk(std::span<const std::byte>& rest) {
    const auto length = read_unsigned(rest, 0, 4);
    const auto name = read_unsigned(rest, 4, 4);
    if (!length || !name || rest.size() < 12 || *length > rest.size() - 12) return std::nullopt;
    const Chunk chunk{*name, rest.subspan(8, *length)};
    rest = rest.subspan(*length + std::size_t{12});
    return chunk;
}

}  // namespace

int PngHeader::channels() const {
    switch (colour_type) {
        case 0: return 1;
        case 4: return 2;
        case 6: return 4;
        default: return 3;
    }
}

PngHeader read_png_header(std::span<const std::byte> bytes, const std::string& name) {
    const auto fail = [&](const std::string& what) {
        throw ImageError(ImageError::Why::malformed,
                         fmt::format("{}: malformed PNG: {}", name, what));
    };
    std::span<const std::byte> rest = bytes.subspan(kSignatureSize);
    const auto first = take_chunk(rest);
    if (!first) fail(fmt::format("truncated, no header in its {} bytes", bytes.size()));
    if (first->name != chunk_name("IHDR") || first->content.size() != kHeaderSize)
        fail("expected an IHDR chunk of 13 bytes first");

    const auto field = [&](std::size_t at, std::size_t count) {
        return *read_unsigned(first->content, at, count);
    };
    PngHeader header;
    header.width = field(0, 4);
    header.height = field(4, 4);
    header.bits = int(field(8, 1));
    header.colour_type = int(field(9, 1));
    header.interlaced = field(12, 1) != 0;
    if (header.width == 0 || header.height == 0)
        fail(fmt::format("expected a positive size, found {}x{}", header.width, header.height));

    while (const auto chunk = take_chunk(rest)) {
        if (chunk->name == chunk_name("IEND")) break;
        if (chunk->name != chunk_name("eXIf")) continue;
        header.orientation = exif_orientation(chunk->content);
        break;
    }
    return header;
}

}  // namespace cait
