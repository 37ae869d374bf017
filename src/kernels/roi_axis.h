// How the places along one axis of a map are weighted in the bins of a region. RoIAlign's samples
// are bilinear and stand in a grid, so its mean is a product of such weights down and across.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace cait::kernels {

// What one axis of a region shows, in pixels of the image, and how it is sampled.
struct RoiSpan {
    float begin = 0, end = 0;
    float scale = 1;  // of places per pixel
    Index size = 0;   // of the map along this axis
    Index bins = 0;
    Index sampling = 0;
    bool aligned = true;
};

// Filled for one region after the other, without allocating once it has been large.
class RoiAxis {
public:
    void set(const RoiSpan& span);

    Index first() const { return first_; }  // place with a weight
    Index count() const { return count_; }  // of places from there on; 0: nothing is seen
    Index bins() const { return Index(seen_.size()); }
    // Of a bin, from first() on.
    const RoiRows& seen(Index bin) const { return seen_[std::size_t(bin)]; }
    float weight(Index bin, Index place) const {
        return weights_[std::size_t(bin * count_ + place)];
    }

private:
    struct Sample {
        Index bin, low, high;
        float share;  // of the higher place
    };
    // Those that fall on the map or within a place of it. Returns the samples of a bin.
    float take_samples(const RoiSpan& span);

    Index first_ = 0, count_ = 0;
    std::vector<RoiRows> seen_;
    std::vector<float> weights_;  // (bins, count)
    std::vector<Sample> samples_;
};

}  // namespace cait::kernels
