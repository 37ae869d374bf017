#include "image/codec/decode.h"
#include "image/codec/byte_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "image/codec/decode_jpeg.h"
#include "image/codec/decode_png.h"
#include "image/codec/decode_webp.h"
#include "image/codec/foreign_format.h"
#include "image/codec/image_limits.h"
#include "image/ops/colour_convert.h"
#include "image/ops/orient.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

using namespace std::string_view_literals;

// Shown only to someone who wonders what the file is, so the first bytes have to do.
std::string describe(std::span<const std::byte> bytes) {
    if (bytes.empty()) return "an empty file";
    if (starts_with(bytes, "version https://git-lfs"sv)) return "a Git LFS pointer";
    if (const auto foreign = describe_foreign_image(bytes); !foreign.empty())
        return std::string(foreign);
    std::string text = "bytes";
    for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 8)))
        text += fmt::format(" {:02x}", std::to_integer<int>(byte));
    return text;
}

ImageFormat format_of(std::span<const std::byte> bytes, const std::string& name) {
    if (starts_with(bytes, "\xff\xd8\xff"sv)) return ImageFormat::jpeg;
    if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv)) return ImageFormat::png;
    if (bytes.size() >= 12 && starts_with(bytes, "RIFF"sv) &&
        starts_with(bytes.subspan(8), "WEBP"sv))
        return ImageFormat::webp;
    throw ImageError(
        ImageError::Why::malformed,
        fmt::format("{}: expected a JPEG, PNG or WebP image, found {}", name, describe(bytes)));
}

ImageInfo info_of(const JpegHeader& header) {
    return {ImageFormat::jpeg, header.width, header.height,
            header.components, header.bits,  header.orientation};
}

ImageInfo info_of(const PngHeader& header) {
    return {ImageFormat::png,  header.width, header.height,
            header.channels(), header.bits,  header.orientation};
}

ImageInfo info_of(const WebpFile& file) {
    return {ImageFormat::webp, file.width(), file.height(), file.has_alpha() ? 4 : 3, 8,
            file.orientation()};
}

void check_size(const ImageInfo& info, const std::string& name, const DecodeLimits& limits) {
    check_image_size(info.width, info.height, name, limits);
}

// Decodes to RGB, or to grey where the file is grey and that is wanted; returns the orientation.
int decode_stored(Image& image, std::span<const std::byte> bytes, const std::string& name,
                  const DecodeOptions& options) {
    switch (format_of(bytes, name)) {
        case ImageFormat::jpeg: {
            const JpegHeader header = read_jpeg_header(bytes, name);
            check_size(info_of(header), name, options.limits);
            decode_jpeg(image, bytes, header, name, options);
            return header.orientation;
        }
        case ImageFormat::png: {
            const PngHeader header = read_png_header(bytes, name);
            check_size(info_of(header), name, options.limits);
            decode_png(image, bytes, header, name, options);
            return header.orientation;
        }
        case ImageFormat::webp: break;
    }
    const WebpFile file(bytes, name);
    check_size(info_of(file), name, options.limits);
    file.decode(image, options.stop);
    return file.orientation();
}

}  // namespace

void decode_image_into(Image& image, std::span<const std::byte> bytes, const std::string& name,
                       const DecodeOptions& options) {
    if (options.channels != 1 && options.channels != 3)
        throw UsageError(
            fmt::format("{}: channels: expected 1 or 3, found {}", name, options.channels));
    const int orientation = decode_stored(image, bytes, name, options);
    if (options.channels == 1) to_grey(image);
    if (options.apply_orientation) image = orient(std::move(image), orientation);
}

Image decode_image(std::span<const std::byte> bytes, const std::string& name,
                   const DecodeOptions& options) {
    Image image;
    decode_image_into(image, bytes, name, options);
    return image;
}

Image read_image(const std::filesystem::path& path, const DecodeOptions& options) {
    return decode_image(read_bytes(path), path.string(), options);
}

ImageInfo probe_image(std::span<const std::byte> bytes, const std::string& name) {
    switch (format_of(bytes, name)) {
        case ImageFormat::jpeg: return info_of(read_jpeg_header(bytes, name));
        case ImageFormat::png: return info_of(read_png_header(bytes, name));
        case ImageFormat::webp: break;
    }
    return info_of(WebpFile(bytes, name));
}

std::uint64_t decoding_memory(std::span<const std::byte> bytes, const std::string& name) {
    const auto pixels_of = [](const ImageInfo& info) {
        return std::uint64_t(info.width) * std::uint64_t(info.height);
    };
    constexpr std::uint64_t kRows = 1 << 20;  // libraries work on some at a time
    constexpr std::uint64_t kPixel = 3;       // bytes
    switch (format_of(bytes, name)) {
        case ImageFormat::jpeg: {
            const JpegHeader header = read_jpeg_header(bytes, name);
            const std::uint64_t pixels = kPixel * pixels_of(info_of(header));
            const std::uint64_t turned = header.orientation > 1 ? pixels : 0;
            return kRows + pixels + std::max(turned, coefficient_bytes(header));
        }
        case ImageFormat::png: {
            const PngHeader header = read_png_header(bytes, name);
            const std::uint64_t pixels = kPixel * pixels_of(info_of(header));
            return kRows + (header.orientation > 1 ? 2 : 1) * pixels;
        }
        case ImageFormat::webp: break;
    }
    constexpr std::uint64_t kBeside = 7;  // without loss, and as it lies in the frame
    return kRows + (kPixel + kBeside) * pixels_of(info_of(WebpFile(bytes, name)));
}

}  // namespace cait
