// Walks a graph on LibTorch tensors: the differentiable run, on any device that LibTorch has.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

#include "graph/graph.h"
#include "torch/evaluate.h"
#include "torch/fuse.h"

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
    at::Tensor compute(const Node& node, std::span<const at::Tensor> results, bool fused,
                       const EvaluateContext& context) const;

    Graph graph_;
    std::vector<std::optional<FusedBranch>> branches_;   // by the node that ends them
    std::vector<bool> covered_;                          // by a branch: not run by itself
    std::vector<std::vector<std::size_t>> freed_after_;  // results that nobody needs any more
};

}  // namespace cait
