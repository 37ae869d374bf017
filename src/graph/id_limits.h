// Ids must name rows of the tables that they are looked up in. A run checks them all before it
// computes anything, so that no step meets another one.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace cait {

// By Graph::inputs(): rows of the smallest table that the input is looked up in; 0: in none.
std::vector<std::int64_t> id_limits(const Graph& graph);

// Throws Error, "[input] source[3, 17]: expected an id of 0…8191, found 9000". `ids` are those of
// `input` with its batch.
void check_ids(const op::Input& input, std::span<const std::int64_t> ids, std::int64_t limit);

}  // namespace cait
