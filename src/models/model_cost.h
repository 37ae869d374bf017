// What one image costs a model, whatever it consists of.
#pragma once

#include <set>
#include <string>

#include "graph/cost.h"
#include "models/catalogue.h"

namespace cait {

// Of a detector: the first stage at its size, and the second for as many regions as a test and
// training have, without pooling and suppression; parameters that neither reads do not count.
Cost model_cost(const ModelSpec& spec);

// Names of the parameters that the outputs of a graph depend on.
std::set<std::string> params_read(const Graph& graph);

}  // namespace cait
