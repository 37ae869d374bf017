// A mask as the lengths of its runs, column by column and beginning with pixels outside, as COCO's
// tools keep it: small however large the image is, and compared without its pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "image/ops/resize.h"

namespace cait {

struct RunMask {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<std::uint32_t> runs;  // outside, inside, outside, … down the columns

    bool empty() const { return runs.size() < 2; }  // no pixel is inside
    bool operator==(const RunMask&) const = default;
};

// Width times height; throws Error where a mask may not have that size.
std::int64_t mask_size(std::int64_t width, std::int64_t height);

// pixels (height, width), row by row: inside where they are not 0.
RunMask run_mask(std::span<const std::uint8_t> pixels, std::int64_t width, std::int64_t height);
// The other way: 1 inside and 0 outside.
std::vector<std::uint8_t> mask_pixels(const RunMask& mask);

// What is inside any of the polygons, x and y in turn, in pixels: bit for bit as pycocotools draws
// them. Throws Error for a polygon of fewer than 3 points and for numbers that are not finite.
RunMask polygon_mask(std::span<const std::vector<double>> polygons, std::int64_t width,
                     std::int64_t height);

// Both of COCO's written forms; throw Error where the runs do not fill the image exactly. Runs of
// no length are joined with their neighbours, so that equal masks have equal runs.
RunMask mask_of_counts(std::span<const std::uint32_t> counts, std::int64_t width,
                       std::int64_t height);
RunMask mask_of_text(std::string_view text, std::int64_t width, std::int64_t height);
std::string mask_text(const RunMask& mask);

std::uint64_t mask_area(const RunMask& mask);
Box mask_bounds(const RunMask& mask);  // all 0 of an empty one
RunMask joined_masks(std::span<const RunMask> masks);

// Intersection over union, or of a crowd over `first` alone. The masks have one size.
double mask_overlap(const RunMask& first, const RunMask& second, bool second_is_crowd = false);

}  // namespace cait
