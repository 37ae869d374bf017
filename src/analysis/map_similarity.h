// How alike the attention maps of layers are: "DeepViT", Zhou et al. 2021, whose deep ViTs look at
// the same patches in block after block.
#pragma once

#include <vector>

#include "cait/model.h"
#include "models/executor.h"

namespace cait {

struct MapSimilarity {
    std::size_t layers = 0;
    std::vector<double> cosine;  // (layers, layers), mean over images, heads and tokens
    // Of each layer but the first: the share of (head, token) whose cosine with those of the layer
    // before is above 0.5, DeepViT's threshold.
    std::vector<double> similar;
};

// The similarity of layers p and q for head h and token t is the cosine of column t of their maps:
// what the token contributes to all others. One image at a time. Throws UsageError unless the model
// has two layers of self-attention with maps of one shape.
MapSimilarity map_similarity(const Model& model, const Executor& executor, const Tensor& images);

// Of one image: maps[layer] is [heads, tokens, tokens].
void add_similarity(const std::vector<std::span<const float>>& maps, std::size_t tokens,
                    double weight, MapSimilarity& sum);

}  // namespace cait
