// Random erasing (Zhong et al. 2017) of rectangles in a normalised image, after timm.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/augment/random_crop.h"
#include "data/sampler.h"

namespace cait {

enum class EraseMode {
    constant,  // zeros, which is the mean
    colour,    // one N(0, 1) number per channel and rectangle
    pixel,     // one N(0, 1) number per pixel and channel
};

std::string_view erase_mode_name(EraseMode mode);  // timm's: const, rand, pixel

struct RandomErasing {
    double probability = 0;
    EraseMode mode = EraseMode::pixel;
    Interval area{0.02, 1.0 / 3};     // share of the image, divided by the number of rectangles
    Interval aspect{0.3, 1.0 / 0.3};  // height / width, uniform in its logarithm
    int min_count = 1;                // rectangles per image
    int max_count = 1;

    void check() const;  // throws UsageError that names the field

    // The rectangles for one image; a rectangle that does not fit in ten tries is left out.
    void draw(std::int64_t width, std::int64_t height, RandomStream& random,
              std::vector<Rectangle>& rectangles) const;

    struct Workspace {
        std::vector<Rectangle> rectangles;
        std::vector<float> noise;
    };
    // `image` is (channels, height, width).
    void apply(const SampleKey& key, std::int64_t channels, std::int64_t height, std::int64_t width,
               std::span<float> image, Workspace& workspace) const;
    bool operator==(const RandomErasing&) const = default;
};

// Many N(0, 1) numbers at once, for erasing with noise: vectorised, and the same on every machine.
// Number i is a function of the key, the purpose and i alone.
void fill_normal(std::uint64_t key, std::uint64_t purpose, std::span<float> values);

}  // namespace cait
