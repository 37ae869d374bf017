// What the label maps of a batch (data/targets/label_map.h) say of the tokens that the model has.
#pragma once

#include "train/torch/libtorch.h"

#include "data/targets/label_map.h"
#include "graph/graph.h"

namespace cait {

struct MapTargets {
    at::Tensor tokens;  // [B, N, K]
    at::Tensor images;  // [B, K]
};

// What a batch's numbers, [B, floats], mean: the mean logits in each place of the grid and in the
// whole of what is shown (RoIAlign), as probabilities p, of which `smoothing` is spread over the
// classes as the official code does it: p * (1 - s + s / K) + s / K.
MapTargets map_targets(const at::Tensor& numbers, const LabelMapSize& size, Grid grid,
                       std::int64_t classes, double smoothing);

// For each of rows × columns bins of a part of a map (in its pixels, whose centres are whole
// numbers) the weight of each of its height × width values: torchvision's roi_align with
// aligned=False and as many samples as the bin has pixels.
std::vector<float> roi_align_weights(const Box& part, std::int64_t height, std::int64_t width,
                                     std::int64_t rows, std::int64_t columns);

}  // namespace cait
