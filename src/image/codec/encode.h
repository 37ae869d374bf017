// Pixels to PNG and JPEG bytes, for previews, results and data sets.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

inline constexpr int kJpegQuality = 90;

std::vector<std::byte> encode_png(const Image& image);

// A grey image as numbers of colours: other programs show these, and its values stay what they
// are. `palette` has 1 to 256; a value beyond it is an Error, unless it is the last, 255.
std::vector<std::byte> encode_palette_png(const Image& image, std::span<const Colour> palette);

// quality: 1 to 100. Colour is stored at half the resolution (4:2:0), as most programs do.
std::vector<std::byte> encode_jpeg(const Image& image, int quality = kJpegQuality);

// Throws UsageError unless write_image() knows the extension.
void check_image_name(const std::filesystem::path& path);

// The extension (.png, .jpg, .jpeg) chooses the format. Replaces a file whole or not at all.
void write_image(const std::filesystem::path& path, const Image& image,
                 int jpeg_quality = kJpegQuality);

}  // namespace cait
