// The weights of a model as training sees them: which of them learn, how fast, and which decay.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "train/recipe/recipe.h"
#include "train/torch/executor.h"

namespace cait {

struct TrainParam {
    std::string name;         // the official one
    at::Tensor value;         // float32; a leaf that requires a gradient where `trained`
    bool trained = true;      // false: frozen, fixed by the model, or a running statistic
    bool statistic = false;   // of a batch norm: moved by forward passes, not by the optimiser
    bool prototypes = false;  // the last layer of DINO's head, which does not learn at first
    bool decay = true;        // weight decay applies
    double lr_scale = 1;      // by layer, from optim.layer_decay
};

// A copy of every parameter of the graph on `device`, in the graph's order. Throws Error when one
// is missing or has another shape, UsageError when the recipe leaves nothing to train.
std::vector<TrainParam> make_parameters(const Graph& graph,
                                        const std::map<std::string, Tensor>& weights,
                                        const Recipe& recipe, at::Device device = at::kCPU);

// By name, as TorchExecutor takes them. The tensors are shared, not copied.
TorchTensors tensors_of(std::span<const TrainParam> params);

}  // namespace cait
