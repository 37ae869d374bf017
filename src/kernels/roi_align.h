// RoIAlign (He et al. 2017): what a region of a map shows, as a small grid of means of bilinear
// samples.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/table.h"
#include "kernels/thread_pool.h"

namespace cait::kernels {

struct RoiAlignArgs {
    const float* map = nullptr;  // (images, channels, height, width)
    Index channels = 0, height = 0, width = 0;
    float scale = 1;     // of places of the map per pixel
    Index bins = 7;      // of the result, down and across
    Index sampling = 0;  // samples per bin and axis; 0: as many as it covers, rounded up
    bool aligned = true;
};

struct Roi {
    Index image = 0;
    float left = 0, top = 0, right = 0, bottom = 0;  // in pixels
};

// results[i] is for rois[i]: (channels, bins, bins). What lies beyond the map by more than a place
// counts as 0, and so does all of a region with a number that is not finite or 2^22 places away.
// An aligned region without area is 0 where the samples are as many as it covers; else its samples
// coincide.
void roi_align(ThreadPool& pool, const RoiAlignArgs& args, std::span<const Roi> rois,
               std::span<float* const> results);

// Adds to `map_gradient`, which is as large as the map. The order of additions does not depend on
// the number of threads.
void roi_align_backward(ThreadPool& pool, const RoiAlignArgs& args, std::span<const Roi> rois,
                        std::span<const float* const> gradients, float* map_gradient);

// The same with the loops of one instruction set, for tests.
void roi_align(const KernelTable& table, ThreadPool& pool, const RoiAlignArgs& args,
               std::span<const Roi> rois, std::span<float* const> results);
void roi_align_backward(const KernelTable& table, ThreadPool& pool, const RoiAlignArgs& args,
                        std::span<const Roi> rois, std::span<const float* const> gradients,
                        float* map_gradient);

}  // namespace cait::kernels
