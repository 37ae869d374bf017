// Fits a file's position embedding to the grid and the prefix tokens that a model expects.
#pragma once

#include <map>
#include <string>

#include "weights/match.h"

namespace cait {

struct PositionFit {
    Tensor tensor;        // float32, of the expected count
    std::string note;     // what was changed, empty when nothing was
    std::string problem;  // why it does not fit, empty when it does
};

PositionFit fit_position(const ExpectedTensor& wanted, const Tensor& found,
                         const std::map<std::string, std::string>& metadata);

}  // namespace cait
