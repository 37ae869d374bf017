#include "torch/fuse.h"

namespace cait {

namespace {

class Finder {
public:
    explicit Finder(const Graph& graph) : graph_(graph), users_(graph.nodes.size(), 0) {
        for (const Node& node : graph.nodes)
            for (const std::size_t input : node.inputs) ++users_[input];
        for (const auto& [name, id] : graph.outputs) users_[id] += 2;  // never inside a branch
    }

    std::optional<FusedBranch> branch_ending_at(const Node& residual) const {
        if (!std::holds_alternative<op::Residual>(residual.op) || residual.shape.rank() != 3)
            return std::nullopt;
        FusedBranch branch;
        branch.x = residual.inputs[0];
        if (residual.inputs.size() > 2) branch.gain = residual.inputs[2];
        const Node* last = inner<op::Linear>(residual.inputs[1], branch);
        if (last == nullptr) return std::nullopt;
        branch.weight2 = last->inputs[1];
        if (last->inputs.size() > 2) branch.bias2 = last->inputs[2];
        const Node* first = fc1(last->inputs[0], branch);
        if (first == nullptr) first = qkv(last->inputs[0], branch);
        if (first == nullptr) return std::nullopt;
        branch.weight1 = first->inputs[1];
        if (first->inputs.size() > 2) branch.bias1 = first->inputs[2];

        const Node* norm = inner<op::LayerNorm>(first->inputs[0], branch);
        if (norm == nullptr || norm->inputs[0] != branch.x) return std::nullopt;
        branch.norm_weight = norm->inputs[1];
        branch.norm_bias = norm->inputs[2];
        branch.epsilon = std::get<op::LayerNorm>(norm->op).epsilon;
        return branch;
    }

private:
    // A node of this kind that only the branch reads, `users` times.
    template <class Wanted>
    const Node* inner(std::size_t id, FusedBranch& branch, int users = 1) const {
        const Node& node = graph_.node(id);
        if (!std::holds_alternative<Wanted>(node.op) || users_[id] != users) return nullptr;
        branch.covered.push_back(id);
        return &node;
    }

    // linear behind gelu(linear(…))
    const Node* fc1(std::size_t id, FusedBranch& branch) const {
        FusedBranch tried = branch;
        const Node* gelu = inner<op::Activation>(id, tried);
        if (gelu == nullptr ||
            std::get<op::Activation>(gelu->op).kind != op::Activation::Kind::gelu)
            return nullptr;
        const Node* linear = inner<op::Linear>(gelu->inputs[0], tried);
        if (linear != nullptr) branch = tried;
        return linear;
    }

    // linear behind attention(first third, second third, last third of linear(…))
    const Node* qkv(std::size_t id, FusedBranch& branch) const {
        FusedBranch tried = branch;
        const Node* attention = inner<op::Attention>(id, tried);
        if (attention == nullptr) return nullptr;
        const std::int64_t dim = attention->shape[2];
        std::optional<std::size_t> source;
        for (std::int64_t third = 0; third < 3; ++third) {
            const Node* slice = inner<op::Slice>(attention->inputs[std::size_t(third)], tried);
            if (slice == nullptr || (source && slice->inputs[0] != *source)) return nullptr;
            const auto& range = std::get<op::Slice>(slice->op);
            const bool last_axis = range.axis == -1 || range.axis == 2;
            if (!last_axis || range.begin != third * dim || range.end != (third + 1) * dim)
                return nullptr;
            source = slice->inputs[0];
        }
        const Node* linear = inner<op::Linear>(*source, tried, 3);
        if (linear == nullptr || linear->shape[2] != 3 * dim) return nullptr;
        tried.attention = std::get<op::Attention>(attention->op);
        tried.mixes.assign(attention->inputs.begin() + 3, attention->inputs.end());
        branch = tried;
        return linear;
    }

    const Graph& graph_;
    std::vector<int> users_;
};

}  // namespace

std::vector<std::optional<FusedBranch>> find_branches(const Graph& graph) {
    const Finder finder(graph);
    std::vector<std::optional<FusedBranch>> branches;
    for (const Node& node : graph.nodes) branches.push_back(finder.branch_ending_at(node));
    return branches;
}

}  // namespace cait
