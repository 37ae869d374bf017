// What answers for every pixel on top of a trunk: UPerNet (Xiao et al. 2018, arXiv 1807.10221) on a
// pyramid of four levels, or one linear map as a cheap probe. Recorded like any part of a model, on
// top of its maps (taps map.N), under the outputs "segmentation" and, for training,
// "segmentation_auxiliary".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder.h"
#include "models/pyramid_levels.h"
#include "models/settings.h"

namespace cait {

struct DenseConfig {
    std::int64_t classes = 150;
    // Of upernet alone:
    std::int64_t width = 512;
    Pyramid pyramid = Pyramid::automatic;  // configure() makes it scales or stages
    std::vector<std::int64_t> taps = {};   // blocks from 0; empty: by depth
    std::int64_t auxiliary = 2;            // the level of the second head; -1: none
    std::int64_t auxiliary_width = 256;
    double dropout = 0.1;  // of whole channels, in training
    bool operator==(const DenseConfig&) const = default;
};

// The keys head.classes, head.width, … but not when they are read.
void bind(Settings& settings, DenseConfig& config);

// `maps` has all of the trunk, `patch` is how many pixels one of their places stands for.
// Parameters decode_head.*, auxiliary_head.*, fpn1.*, fpn2.*, neck.*.
void record_upernet(Builder& builder, const DenseConfig& config, std::span<const Value> maps,
                    MapsOf kind, std::int64_t patch);
// A batch norm and a linear map of the last map. Parameters decode_head.{bn,conv_seg}.*.
void record_linear_map(Builder& builder, const DenseConfig& config, std::span<const Value> maps);

// Says that files may have these parameters.
void leave_out_dense_head(Builder& builder);

}  // namespace cait
