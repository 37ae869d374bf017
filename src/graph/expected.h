// What a graph's parameters look like to the weight loader.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "weights/match.h"

namespace cait {

std::vector<ExpectedTensor> expected_tensors(const Graph& graph);

}  // namespace cait
