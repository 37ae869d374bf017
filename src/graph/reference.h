// A plain interpreter: every primitive as the loop that defines it, sums in double, no threads. It
// is what passes and other walkers are compared with, and it computes weights that depend on
// weights alone. Inference only.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"
#include "graph/initialize.h"

namespace cait {

// Inputs and every parameter by name → the named outputs. Composites run as their decomposition.
// Throws Error for a graph that was recorded for training.
std::map<std::string, Tensor> run_reference(const Graph& graph, const NamedInputs<Tensor>& inputs,
                                            const WeightMap& weights);

}  // namespace cait
