#include "graph/passes.h"

#include "graph/builder.h"

namespace cait {

namespace {

// A branch, named by the nodes that it reads.
struct Branch {
    op::BranchOptions options;
    std::optional<op::AttentionOptions> attention;  // none: an MLP
    std::vector<std::size_t> inputs;
};

class BranchFinder {
public:
    explicit BranchFinder(const Graph& graph) : graph_(graph), readers_(graph.nodes.size(), 0) {
        for (const Node& node : graph.nodes)
            for (const std::size_t input : node.inputs) ++readers_[input];
        constexpr int kOutside = 4;  // more than any branch has: an output is never inside one
        for (const auto& [name, id] : graph.outputs) readers_[id] += kOutside;
    }

    std::optional<Branch> ending_at(const Node& residual) const {
        const auto* end = std::get_if<op::Residual>(&residual.op);
        if (end == nullptr || residual.shape.rank() < 3) return std::nullopt;
        const Node* last = inner<op::Linear>(residual.inputs[1]);
        if (last == nullptr) return std::nullopt;
        const Node* first = fc1_before(*last);
        const Node* attention = first == nullptr ? inner<op::Attention>(last->inputs[0]) : nullptr;
        if (attention != nullptr) first = qkv_before(*attention);
        if (first == nullptr) return std::nullopt;
        const Node* norm = inner<op::LayerNorm>(first->inputs[0]);
        const std::size_t x = norm == nullptr ? first->inputs[0] : norm->inputs[0];
        // Without a norm only what lower() made out of an affine map.
        const bool fits = norm != nullptr || (attention == nullptr && graph_.mode == Mode::infer);
        if (!fits || x != residual.inputs[0]) return std::nullopt;

        Branch branch;
        branch.options = {
            .norm = norm != nullptr,
            .epsilon = norm == nullptr ? 0 : std::get<op::LayerNorm>(norm->op).epsilon,
            .drop_path = end->drop_path,
            .bias1 = first->inputs.size() > 2,
            .bias2 = last->inputs.size() > 2,
            .gain = residual.inputs.size() > 2};
        branch.inputs = norm == nullptr ? std::vector{x} : norm->inputs;
        const auto append = [&](const Node& node, std::size_t from) {
            branch.inputs.insert(branch.inputs.end(), node.inputs.begin() + std::ptrdiff_t(from),
                                 node.inputs.end());
        };
        append(*first, 1);
        append(*last, 1);
        if (attention != nullptr) {
            branch.attention = std::get<op::Attention>(attention->op);
            append(*attention, 3);  // the mixes
        }
        append(residual, 2);
        return branch;
    }

private:
    // A node of this kind that only the branch reads, this many times.
    template <class Wanted>
    const Node* inner(std::size_t id, int readers = 1) const {
        const Node& node = graph_.node(id);
        return std::holds_alternative<Wanted>(node.op) && readers_[id] == readers ? &node : nullptr;
    }

    // The linear map of linear(gelu(linear(…))).
    const Node* fc1_before(const Node& fc2) const {
        const Node* activation = inner<op::Activation>(fc2.inputs[0]);
        if (activation == nullptr ||
            std::get<op::Activation>(activation->op).kind != op::Activation::Kind::gelu)
            return nullptr;
        return inner<op::Linear>(activation->inputs[0]);
    }

    // The linear map whose thirds are queries, keys and values.
    const Node* qkv_before(const Node& attention) const {
        const std::int64_t dim = attention.shape[2];
        const Node* source = nullptr;
        for (std::int64_t third = 0; third < 3; ++third) {
            const Node* slice = inner<op::Slice>(attention.inputs[std::size_t(third)]);
            if (slice == nullptr) return nullptr;
            const auto& range = std::get<op::Slice>(slice->op);
            const bool last_axis = range.axis == -1 || range.axis == 2;
            if (!last_axis || range.begin != third * dim || range.end != (third + 1) * dim)
                return nullptr;
            const Node* of = inner<op::Linear>(slice->inputs[0], 3);
            if (of == nullptr || (source != nullptr && of != source)) return nullptr;
            source = of;
        }
        return source->shape[2] == 3 * dim ? source : nullptr;
    }

    const Graph& graph_;
    std::vector<int> readers_;
};

// A convolution and what follows it at once, named by the nodes that it reads.
struct Unit {
    op::ConvUnit op;
    std::vector<std::size_t> inputs;
};

class UnitFinder {
public:
    explicit UnitFinder(const Graph& graph) : graph_(graph), readers_(graph.nodes.size(), 0) {
        for (const Node& node : graph.nodes)
            for (const std::size_t input : node.inputs) ++readers_[input];
        for (const auto& [name, id] : graph.outputs) ++readers_[id];
    }

    // activation(conv), and relu(shortcut + conv) as in residual networks.
    std::optional<Unit> ending_at(const Node& node) const {
        const auto* activation = std::get_if<op::Activation>(&node.op);
        if (activation == nullptr || graph_.mode != Mode::infer) return std::nullopt;
        using Kind = op::Activation::Kind;
        const Kind kind = activation->kind;
        if (kind != Kind::gelu && kind != Kind::relu && kind != Kind::silu) return std::nullopt;
        if (const Node* conv = inner<op::Conv2d>(node.inputs[0])) {
            Unit unit = unit_of(*conv);
            unit.op.activation = kind;
            return unit;
        }
        const Node* sum = inner<op::Residual>(node.inputs[0]);
        if (sum == nullptr) sum = inner<op::Add>(node.inputs[0]);
        if (sum == nullptr || kind != Kind::relu || sum->inputs.size() != 2) return std::nullopt;
        for (const std::size_t i : {1U, 0U}) {
            const Node* conv = inner<op::Conv2d>(sum->inputs[i]);
            const std::size_t other = sum->inputs[1 - i];
            if (conv == nullptr || is_per_channel(*conv) || graph_.node(other).shape != conv->shape)
                continue;
            Unit unit = unit_of(*conv);
            unit.op.residual = true;
            unit.op.relu_last = true;
            unit.inputs.push_back(other);
            return unit;
        }
        return std::nullopt;
    }

private:
    template <class Wanted>
    const Node* inner(std::size_t id) const {
        const Node& node = graph_.node(id);
        return std::holds_alternative<Wanted>(node.op) && readers_[id] == 1 ? &node : nullptr;
    }

    bool is_per_channel(const Node& conv) const {
        return std::get<op::Conv2d>(conv.op).groups > 1 &&
               graph_.node(conv.inputs[1]).shape[1] == 1;
    }

    static Unit unit_of(const Node& conv) {
        Unit unit;
        static_cast<op::Conv2d&>(unit.op) = std::get<op::Conv2d>(conv.op);
        unit.op.bias = conv.inputs.size() > 2;
        unit.inputs = conv.inputs;
        return unit;
    }

    const Graph& graph_;
    std::vector<int> readers_;
};

// Whether a convolution sees every pixel exactly once. 1×1 is left to the convolution.
bool is_patch_convolution(const Graph& graph, const Node& node) {
    const auto* op = std::get_if<op::Conv2d>(&node.op);
    if (op == nullptr || op->stride == 1 || op->padding != 0 || op->groups != 1) return false;
    const Shape& x = graph.node(node.inputs[0]).shape;
    const Shape& weight = graph.node(node.inputs[1]).shape;
    return weight[2] == op->stride && weight[3] == op->stride && x[2] % op->stride == 0 &&
           x[3] % op->stride == 0;
}

class Fuser {
public:
    explicit Fuser(const Graph& graph)
        : graph_(graph),
          finder_(graph),
          units_(graph),
          builder_(Builder::rewriting(graph)),
          replaced_(graph.nodes.size()),
          channels_last_(graph.nodes.size()) {}

    // Inner nodes are copied, too: nothing reads them any more, and finish() prunes.
    Graph run() {
        for (const Node& node : graph_.nodes) replaced_[node.id] = rewritten(node);
        for (const auto& [name, id] : graph_.outputs) builder_.output(name, replaced_[id]);
        return builder_.finish();
    }

private:
    Value rewritten(const Node& node) {
        if (const auto branch = finder_.ending_at(node)) {
            std::vector<Value> inputs = values(branch->inputs);
            if (!branch->attention) return mlp_branch(node, branch->options, std::move(inputs));
            return builder_.record_as(
                node, op::AttentionBranch{branch->options, *branch->attention}, inputs);
        }
        if (const auto unit = units_.ending_at(node))
            return builder_.record_as(node, unit->op, values(unit->inputs));
        if (const Value attended = class_attention(node)) return attended;
        if (const Value mixed = patch_mix(node)) return mixed;
        if (is_patch_convolution(graph_, node)) {
            const op::PatchEmbed op{std::get<op::Conv2d>(node.op).stride};
            channels_last_[node.id] = builder_.record_as(node, op, values(node.inputs));
            return builder_.permute(channels_last_[node.id], {0, 3, 1, 2}, node.where);
        }
        if (const Value tokens = patch_tokens(node)) return tokens;
        return builder_.copy(node, values(node.inputs));
    }

    // An MLP sees rows only: maps [B, H, W, D] are tokens to it.
    Value mlp_branch(const Node& node, const op::BranchOptions& options,
                     std::vector<Value> inputs) {
        const Shape& shape = node.shape;
        if (shape.rank() == 3) return builder_.record_as(node, op::MlpBranch{options}, inputs);
        const std::int64_t tokens = shape.count() / shape[-1];
        inputs[0] = builder_.reshape(inputs[0], {shape[0], tokens, shape[-1]}, node.where);
        const Value fused = builder_.record_as(node, op::MlpBranch{options}, inputs);
        return builder_.reshape(fused, shape, node.where);
    }

    // A linear map of tokens, or a part of the rows of one: weight and bias of these rows.
    struct Projection {
        std::size_t tokens = 0;
        Value weight, bias;
    };
    std::optional<Projection> projection(std::size_t id, Location at) {
        const Node* node = &graph_.node(id);
        const auto* slice = std::get_if<op::Slice>(&node->op);
        if (slice != nullptr) {
            const auto last = std::int64_t(node->shape.rank()) - 1;
            if (slice->axis != -1 && slice->axis != last) return std::nullopt;
            node = &graph_.node(node->inputs[0]);
        }
        if (!std::holds_alternative<op::Linear>(node->op)) return std::nullopt;
        Projection found{node->inputs[0], replaced_[node->inputs[1]], {}};
        if (node->inputs.size() > 2) found.bias = replaced_[node->inputs[2]];
        if (slice == nullptr) return found;
        const auto rows = [&](Value v) {
            return builder_.slice(v, 0, slice->begin, slice->end, at);
        };
        found.weight = rows(found.weight);
        if (found.bias) found.bias = rows(found.bias);
        return found;
    }

    // Worth it while the queries of all heads are fewer than the channels that a projection has.
    Value class_attention(const Node& node) {
        const auto* op = std::get_if<op::Attention>(&node.op);
        if (op == nullptr || graph_.mode != Mode::infer || op->mix_before || op->mix_after ||
            2 * op->heads * node.shape[1] > node.shape[2])
            return {};
        const auto keys = projection(node.inputs[1], node.where);
        const auto values = projection(node.inputs[2], node.where);
        if (!keys || !values || keys->tokens != values->tokens ||
            graph_.node(keys->tokens).shape[-1] != node.shape[2])
            return {};
        std::vector<Value> inputs{replaced_[node.inputs[0]], replaced_[keys->tokens], keys->weight,
                                  values->weight};
        if (values->bias) inputs.push_back(values->bias);
        return builder_.record_as(node, op::ClassAttention{*op}, inputs);
    }

    // permute(linear(permute(x))), where each permute exchanges tokens and channels.
    Value patch_mix(const Node& node) {
        const auto swaps = [&](const Node& at) {
            const auto* op = std::get_if<op::Permute>(&at.op);
            return op != nullptr && op->order == std::vector<std::int64_t>{0, 2, 1};
        };
        if (graph_.mode != Mode::infer || !swaps(node)) return {};
        const Node& linear = graph_.node(node.inputs[0]);
        if (!std::holds_alternative<op::Linear>(linear.op)) return {};
        const Node& before = graph_.node(linear.inputs[0]);
        if (!swaps(before)) return {};
        std::vector<Value> inputs = values(linear.inputs);
        inputs[0] = replaced_[before.inputs[0]];
        return builder_.record_as(node, op::PatchMix{}, inputs);
    }

    // PatchEmbed leaves the channels last. Where a model moves them there, nothing is left to do:
    // permute(conv, 0 2 3 1), and permute(reshape(conv, [B, D, N]), 0 2 1).
    Value patch_tokens(const Node& node) {
        const auto* op = std::get_if<op::Permute>(&node.op);
        if (op == nullptr) return {};
        const std::vector<std::int64_t>& order = op->order;
        const Node& source = graph_.node(node.inputs[0]);
        if (order == std::vector<std::int64_t>{0, 2, 3, 1}) return channels_last_[source.id];
        if (order != std::vector<std::int64_t>{0, 2, 1} ||
            !std::holds_alternative<op::Reshape>(source.op))
            return {};
        const Value maps = channels_last_[source.inputs[0]];
        if (!maps || source.shape[1] != maps.extent(3)) return {};
        return builder_.reshape(maps, node.shape, node.where);
    }

    std::vector<Value> values(const std::vector<std::size_t>& ids) const {
        std::vector<Value> result;
        for (const std::size_t id : ids) result.push_back(replaced_[id]);
        return result;
    }

    const Graph& graph_;
    BranchFinder finder_;
    UnitFinder units_;
    Builder builder_;
    std::vector<Value> replaced_;       // by node of the source
    std::vector<Value> channels_last_;  // by convolution: what its PatchEmbed gives
};

}  // namespace

Graph fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace cait
