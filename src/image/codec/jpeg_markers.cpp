#include "image/codec/jpeg_markers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "image/codec/byte_order.h"
#include "image/codec/decode.h"
#include "image/codec/exif.h"

namespace cait {

void malformed_jpeg(const std::string& name, std::string_view what) {
    throw ImageError(ImageError::Why::malformed, fmt::format("{}: malformed JPEG: {}", name, what));
}

namespace {

using namespace std::string_view_literals;

constexpr int kStartOfImage = 0xd8;
constexpr int kEndOfImage = 0xd9;
constexpr int kStartOfScan = 0xda;
constexpr int kApp1 = 0xe1;
constexpr std::string_view kExif = "Exif\0\0"sv;

bool is_frame(int marker) {
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool is_huffman(int frame) { return frame < 0xc8; }

bool is_progressive(int frame) { return (frame & 3) == 2; }

// Restart markers, TEM and a stray SOI have no segment behind them.
bool stands_alone(int marker) {
    return marker == 0x01 || (marker >= 0xd0 && marker <= kStartOfImage);
}

class MarkerWalk {
public:
    MarkerWalk(std::span<const std::byte> bytes, std::size_t start)
        : bytes_(bytes), position_(start) {}

    std::size_t position() const { return position_; }

    // Skips what is not a marker: entropy-coded data with its stuffed zeros, fill bytes, garbage.
    std::optional<int> next() {
        while (position_ < bytes_.size()) {
            const void* found =
                std::memchr(bytes_.data() + position_, 0xff, bytes_.size() - position_);
            if (found == nullptr) break;
            position_ = std::size_t(static_cast<const std::byte*>(found) - bytes_.data());
            while (position_ < bytes_.size() && bytes_[position_] == std::byte{0xff}) ++position_;
            if (position_ == bytes_.size()) break;
            const int marker = std::to_integer<int>(bytes_[position_++]);
            if (marker != 0) return marker;
        }
        position_ = bytes_.size();
        return std::nullopt;
    }

    // What follows the length; empty optional when the file ends before the segment does.
    std::optional<std::span<const std::byte>> segment() {
        const auto length = read_unsigned(bytes_, position_, 2);
        if (!length || *length < 2 || *length > bytes_.size() - position_) return std::nullopt;
        const auto content = bytes_.subspan(position_ + 2, *length - 2);
        position_ += *length;
        return content;
    }

private:
    std::span<const std::byte> bytes_;
    std::size_t position_;
};

// Components may have a fraction of the image's samples each way (4:2:0 and the like). A scan may
// hold more blocks than these, to fill up groups of them, and never less.
std::int64_t count_blocks(std::span<const std::byte> segment, const JpegHeader& header,
                          const std::string& name) {
    struct Factors {
        std::int64_t across, down;
    };
    std::vector<Factors> components;
    Factors most{1, 1};
    for (int i = 0; i < header.components; ++i) {
        const auto packed = read_unsigned(segment, 7 + 3 * std::size_t(i), 1);
        if (!packed) malformed_jpeg(name, "the frame header is too short");
        const Factors factors{*packed >> 4, *packed & 15};
        if (factors.across < 1 || factors.across > 4 || factors.down < 1 || factors.down > 4)
            malformed_jpeg(name, fmt::format("expected sampling factors from 1 to 4, found {}x{}",
                                             factors.across, factors.down));
        most = {std::max(most.across, factors.across), std::max(most.down, factors.down)};
        components.push_back(factors);
    }
    const auto blocks = [](std::int64_t pixels, std::int64_t factor, std::int64_t largest) {
        return (pixels * factor + 8 * largest - 1) / (8 * largest);
    };
    std::int64_t count = 0;
    for (const Factors& factors : components)
        count += blocks(header.width, factors.across, most.across) *
                 blocks(header.height, factors.down, most.down);
    return count;
}

void read_frame(std::span<const std::byte> segment, JpegHeader& header, const std::string& name) {
    if (segment.size() < 6) malformed_jpeg(name, "the frame header is too short");
    header.bits = int(*read_unsigned(segment, 0, 1));
    header.height = *read_unsigned(segment, 1, 2);
    header.width = *read_unsigned(segment, 3, 2);
    header.components = int(*read_unsigned(segment, 5, 1));
    if (header.width == 0 || header.height == 0)
        malformed_jpeg(name, fmt::format("expected a positive size, found {}x{}", header.width,
                                         header.height));
    header.blocks = count_blocks(segment, header, name);
}

bool is_exif(std::span<const std::byte> segment) {
    return segment.size() >= kExif.size() &&
           std::memcmp(segment.data(), kExif.data(), kExif.size()) == 0;
}

}  // namespace

JpegHeader read_jpeg_header(std::span<const std::byte> bytes, const std::string& name) {
    JpegHeader header;
    MarkerWalk walk(bytes, 2);
    bool progressive = false;
    bool exif_seen = false;
    while (const auto marker = walk.next()) {
        if (stands_alone(*marker)) continue;
        if (*marker == kEndOfImage) malformed_jpeg(name, "it ends before the first scan");
        const std::size_t start = walk.position();
        const auto segment = walk.segment();
        if (!segment) break;
        if (is_frame(*marker)) {
            read_frame(*segment, header, name);
            progressive = is_progressive(*marker);
            header.huffman = is_huffman(*marker);
        } else if (*marker == kApp1 && !exif_seen && is_exif(*segment)) {
            exif_seen = true;
            header.orientation = exif_orientation(*segment);
        } else if (*marker == kStartOfScan) {
            if (header.components == 0)
                malformed_jpeg(name, "a scan comes before the frame header");
            if (segment->empty()) malformed_jpeg(name, "the scan header is too short");
            header.one_scan =
                !progressive && std::to_integer<int>(segment->front()) == header.components;
            header.first_scan = start;
            return header;
        }
    }
    malformed_jpeg(name, fmt::format("truncated, no scan in its {} bytes", bytes.size()));
}

int count_jpeg_scans(std::span<const std::byte> bytes, const JpegHeader& header, int most) {
    int scans = 1;
    MarkerWalk walk(bytes, header.first_scan);
    walk.segment();
    while (scans <= most) {
        const auto marker = walk.next();
        if (!marker || *marker == kEndOfImage) break;
        if (*marker == kStartOfScan) ++scans;
        if (!stands_alone(*marker) && !walk.segment()) break;
    }
    return scans;
}

}  // namespace cait
