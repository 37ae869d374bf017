// What int8 costs, layer by layer: measured with images, against the model in float32.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cait/quantize.h"
#include "graph/graph.h"
#include "graph/initialize.h"

namespace cait::engine {

struct CompareModels {
    const Graph& graph;         // as the model recorded it
    const WeightMap& floats;    // of the model as it was
    const WeightMap& smoothed;  // float32 before rounding
    const WeightMap& rounded;   // what the file has
    const QuantizeOptions& options;
    int threads = 1;
};

// The layers that are int8 with the errors of their weights.
std::vector<LayerError> weight_errors(const CompareModels& models);

// Fills in what images show, and returns the ratio of the logits, or of the output that the graph
// has in their place.
double measure_errors(const CompareModels& models, const Tensor& images,
                      std::vector<LayerError>& layers);

}  // namespace cait::engine
