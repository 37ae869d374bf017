// Walks a graph on LibTorch tensors: the differentiable run, on any device that LibTorch has.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "graph/graph.h"
#include "graph/passes.h"
#include "train/torch/evaluate.h"

namespace cait {

using TorchTensors = std::map<std::string, at::Tensor>;

class TorchExecutor {
public:
    explicit TorchExecutor(const Graph& graph);

    // Inputs and every parameter of the graph by name → the named outputs. Autograd follows the
    // caller's grad mode and the parameters' requires_grad.
    TorchTensors run(const NamedInputs<at::Tensor>& inputs, const TorchTensors& params,
                     const EvaluateContext& context = {}) const;

    const Graph& graph() const { return recorded_.graph; }

private:
    // A graph to be run in order, and what may be freed on the way.
    struct Plan {
        explicit Plan(Graph of);
        Graph graph;
        std::vector<op::Input> inputs;
        std::vector<std::int64_t> id_limits;  // of the inputs
        Liveness live;
        // Names of the nodes that EvaluateContext::quantize is about, found when first asked for.
        struct Quantized {
            std::once_flag once;
            std::set<std::string> nodes;
        };
        std::shared_ptr<Quantized> quantized = std::make_shared<Quantized>();
    };
    const std::set<std::string>& quantized_of(const Plan& plan) const;

    Plan recorded_;  // for those who watch every node
    Plan fused_;
};

}  // namespace cait
