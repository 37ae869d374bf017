// Fits what depends on the grid of patches, position embeddings and mixes of patches, to the grid
// (and the prefix tokens) that a model expects.
#pragma once

#include <map>
#include <string>

#include "weights/match.h"

namespace cait {

struct GridFit {
    Tensor tensor;        // float32, of the expected count
    std::string note;     // what was changed, empty when nothing was
    std::string problem;  // why it does not fit, empty when it does
};

GridFit fit_position(const ExpectedTensor& wanted, const Tensor& found,
                     const std::map<std::string, std::string>& metadata);
GridFit fit_patch_mixing(const ExpectedTensor& wanted, const Tensor& found,
                         const std::map<std::string, std::string>& metadata);

}  // namespace cait
