// Fresh weights for a graph, by the initialisers that the model declared.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "graph/graph.h"

namespace cait {

using WeightMap = std::map<std::string, Tensor>;

// Throws Error if it is missing or has another shape.
const Tensor& weight_of(const ParamSpec& spec, const WeightMap& weights);
// The same as float32; of int8, whose scales are NAME_scale, made for the caller.
Tensor float_weight_of(const ParamSpec& spec, const WeightMap& weights);

// A pure function of (spec, seed): a parameter's values depend on its own name only, so they stay
// the same when other parameters come or go.
Tensor initialize(const ParamSpec& spec, std::uint64_t seed);

WeightMap initialize(const Graph& graph, std::uint64_t seed);

}  // namespace cait
