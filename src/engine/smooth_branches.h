// Smoothing before weights are rounded: where a few channels of a layer norm's results are much
// larger than the others, the scale of a row serves them alone. Dividing the norm's gain and bias
// by a factor per channel, and multiplying the columns of the linear map behind it, changes nothing
// but the rounding (Xiao et al., SmoothQuant).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cait/quantize.h"
#include "graph/graph.h"
#include "graph/initialize.h"

namespace cait::engine {

// Changes `weights`, which are float32, of the branches of `graph` that begin with a layer norm of
// their own. Returns the strength of each branch that is smoothed, by its node's name.
std::map<std::string, double> smooth_branches(const Graph& graph, WeightMap& weights,
                                              const Tensor& images, const QuantizeOptions& options,
                                              int threads);

// max|x|^strength / max|w|^(1 - strength), by column; x [rows, columns], w [outputs, columns].
std::vector<float> smoothing_factors(std::span<const float> x, std::span<const float> w,
                                     std::size_t columns, double strength);

}  // namespace cait::engine
