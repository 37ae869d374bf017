// Operations that map each pixel value by itself, after ImageOps of Pillow. All work in place.
#pragma once

#include <array>
#include <cstdint>

#include "image/image.h"

namespace cait {

using PointTable = std::array<std::uint8_t, 256>;

void apply_table(Image& image, const PointTable& table);
void apply_tables(Image& image, const std::array<PointTable, 3>& tables);  // one per channel

void invert(Image& image);
void posterize(Image& image, int bits);         // keeps the upper bits; 0 makes it black
void solarize(Image& image, double threshold);  // inverts values that are not below it
void solarize_add(Image& image, int addend, int threshold = 128);  // adds to values below it
void autocontrast(Image& image);  // stretches each channel to [0, 255]
void equalize(Image& image);      // makes each channel's histogram flat

}  // namespace cait
