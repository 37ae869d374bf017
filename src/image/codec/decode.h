// Encoded JPEG, PNG and WebP bytes to 8-bit RGB or grey pixels: what Pillow's
// ImageOps.exif_transpose(Image.open(f)).convert("RGB") gives, with limits checked before decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "cait/error.h"
#include "image/image.h"

namespace cait {

// Every refused image is one of these.
class ImageError : public Error {
public:
    enum class Why { too_large, malformed };

    ImageError(Why why, const std::string& message) : Error(message), why_(why) {}

    Why why() const noexcept { return why_; }

private:
    Why why_;
};

// DecodeOptions::stop said so.
class DecodingStopped : public Error {
public:
    using Error::Error;
};

struct DecodeLimits {
    std::int64_t pixels = 178'956'970;  // width * height; where Pillow begins to suspect a bomb
    int scans = 100;                    // of a JPEG: each one is a pass over all the pixels
};

struct DecodeOptions {
    DecodeLimits limits;
    int channels = 3;  // 3: RGB, 1: grey (ITU-R 601 luma, as Pillow's convert("L"))
    bool apply_orientation = true;
    // Asked every some rows; true ends decoding by DecodingStopped. Throws nothing.
    std::function<bool()> stop{};
};

enum class ImageFormat { jpeg, png, webp };

// What the header says, before any conversion.
struct ImageInfo {
    ImageFormat format = ImageFormat::jpeg;
    std::int64_t width = 0;  // as stored: orientations 5 to 8 swap the two when they are applied
    std::int64_t height = 0;
    int channels = 0;     // with alpha; a palette counts as the 3 that it gives
    int bits = 8;         // per stored sample (of a palette: per index)
    int orientation = 1;  // EXIF, 1 to 8

    bool operator==(const ImageInfo&) const = default;
};

// The format is recognised by the content, never by the name; `name` opens the error messages.
// - Alpha is dropped, not blended, also that of a palette. No gamma or colour profile is applied.
// - 16-bit samples keep their high byte. (Pillow does this for colour, but clips 16-bit grey at
// 255,
//   which turns most such images white.)
// - CMYK and YCCK are taken as inverted, as Adobe writes them.
// - Of an animation, the first frame is decoded.
// - A truncated file is refused, whatever could have been saved of it; so is a PNG whose stream
//   holds more than its header needs.
Image decode_image(std::span<const std::byte> bytes, const std::string& name,
                   const DecodeOptions& options = {});

// The same into an image whose memory is used again, for loops. After an Error its content is
// unspecified.
void decode_image_into(Image& image, std::span<const std::byte> bytes, const std::string& name,
                       const DecodeOptions& options = {});

Image read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

// Reads the header only, and checks no limits.
ImageInfo probe_image(std::span<const std::byte> bytes, const std::string& name);

// Bytes that decode_image() needs at most, by the header alone, with the pixels that it gives.
std::uint64_t decoding_memory(std::span<const std::byte> bytes, const std::string& name);

}  // namespace cait
