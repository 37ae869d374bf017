// What a detector learns from: which of its regions show an annotated box and which show
// background, and the few of them that a step looks at; as mmdetection has both (MaxIoUAssigner and
// RandomSampler).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "models/regions.h"

namespace cait {

// By intersection over union with the box that a region overlaps most.
struct AssignRule {
    float positive = 0.7F;    // from here on the region shows that box
    float background = 0.3F;  // below it shows background; in between it teaches nothing
    // A box also has the regions that overlap it most, all of them, if by this much at least; where
    // a region is the best of several boxes, it shows the last. Above 1: only what is above.
    float best = 0.3F;
};

inline constexpr AssignRule kAnchorRule{.positive = 0.7F, .background = 0.3F, .best = 0.3F};
// Of proposals. mmdetection's Faster R-CNN does not look for the best of a box.
inline constexpr AssignRule kMaskRegionRule{.positive = 0.5F, .background = 0.5F, .best = 0.5F};
inline constexpr AssignRule kBoxRegionRule{.positive = 0.5F, .background = 0.5F, .best = 2};

inline constexpr std::int32_t kBackground = -1;
inline constexpr std::int32_t kNeither = -2;

// For each region the number of the box that it shows, or one of the two above.
std::vector<std::int32_t> assigned(std::span<const Region> regions, std::span<const Region> boxes,
                                   const AssignRule& rule);

struct SampleSize {
    std::int64_t most = 256;      // of both together
    double positive_share = 0.5;  // at most
};

// Places in what was assigned, rising.
struct RegionSample {
    std::vector<std::int32_t> positive;
    std::vector<std::int32_t> background;

    std::int64_t size() const { return std::int64_t(positive.size() + background.size()); }
};

// Background fills what positives leave. Drawn only where there are more than asked for.
RegionSample sampled(std::span<const std::int32_t> shown, const SampleSize& size,
                     RandomStream random);

// The numbers for one image of one step: the same whichever process has the image, and in whichever
// part of a batch it goes through the network. `place`: in the batch of all processes.
RandomStream sampling_stream(std::string_view stage, std::uint64_t seed, std::uint64_t step,
                             std::uint64_t place);

}  // namespace cait
