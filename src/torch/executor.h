// Walks a graph on LibTorch tensors: the differentiable run, on any device that LibTorch has.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "graph/graph.h"
#include "torch/evaluate.h"

namespace cait {

using TorchTensors = std::map<std::string, at::Tensor>;

class TorchExecutor {
public:
    explicit TorchExecutor(Graph graph);

    // images [B, C, H, W] and every parameter of the graph by name → the named outputs.
    // Autograd follows the caller's grad mode and the parameters' requires_grad.
    TorchTensors run(const at::Tensor& images, const TorchTensors& params,
                     const EvaluateContext& context = {}) const;

    const Graph& graph() const { return graph_; }

private:
    void check_input(const at::Tensor& images, const Node& node) const;

    Graph graph_;
    std::vector<std::vector<std::size_t>> freed_after_;  // results that nobody needs any more
};

}  // namespace cait
