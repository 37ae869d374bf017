// Weights that depend on weights alone, computed once: what lower() leaves as subgraphs.
#pragma once

#include "graph/graph.h"
#include "graph/initialize.h"

namespace cait {

struct ComputedConstants {
    Graph graph;        // every such subgraph is a parameter, named after its last node
    WeightMap weights;  // of all parameters that the graph still reads, and of no others
};

// `weights` has every parameter of the graph by name.
ComputedConstants compute_constants(const Graph& graph, const WeightMap& weights);

}  // namespace cait
