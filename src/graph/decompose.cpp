// What each composite op means, in primitives. Walkers that know a composite directly are held
// against these by the conformance tests.
#include <cmath>

#include "graph/branch_inputs.h"
#include "graph/builder.h"

namespace cait {

namespace {

using Inputs = std::span<const Value>;
using Kind = op::Activation::Kind;

// Everything that is not a composite.
template <class Op>
std::optional<Value> expand_op(Builder&, const Op&, Inputs, Location) {
    return std::nullopt;
}

std::optional<Value> expand_op(Builder& b, const op::LayerNorm& op, Inputs in, Location at) {
    const Value x = in[0];
    const Value mean = b.reduce(x, op::Reduce::Kind::mean, {-1}, true, at);
    const Value centred = b.add(x, b.scale(mean, -1, 0, at), at);
    const Value variance =
        b.reduce(b.mul(centred, centred, at), op::Reduce::Kind::mean, {-1}, true, at);
    const Value inverse = b.activation(b.scale(variance, 1, op.epsilon, at), Kind::rsqrt, at);
    return b.add(b.mul(b.mul(centred, inverse, at), in[1], at), in[2], at);
}

// [B, N, D] → [B, H, N, D/H]
Value split_heads(Builder& b, Value x, std::int64_t heads, Location at) {
    const Shape& s = x.shape();
    return b.permute(b.reshape(x, {s[0], s[1], heads, s[2] / heads}, at), {0, 2, 1, 3}, at);
}

// A linear map across the heads of [B, H, Q, K].
Value mix_heads(Builder& b, Value map, Value weight, Value bias, Location at) {
    const Value last = b.permute(map, {0, 2, 3, 1}, at);
    return b.permute(b.linear(last, {weight, bias}, at), {0, 3, 1, 2}, at);
}

Value attention_map(Builder& b, const op::AttentionOptions& op, Value q, Value k, Inputs mixes,
                    Location at) {
    const Value queries = b.scale(split_heads(b, q, op.heads, at), op.scale, 0, at);
    Value map = b.matmul(queries, split_heads(b, k, op.heads, at), true, at);
    if (op.mix_before) {
        map = mix_heads(b, map, mixes[0], mixes[1], at);
        mixes = mixes.subspan(2);
    }
    map = b.softmax(map, -1, at);
    if (op.mix_after) map = mix_heads(b, map, mixes[0], mixes[1], at);
    return map;
}

Value attention_apply(Builder& b, Value map, Value v, Location at) {
    const Value heads = b.matmul(map, split_heads(b, v, map.extent(1), at), false, at);
    return b.reshape(b.permute(heads, {0, 2, 1, 3}, at), {v.extent(0), map.extent(2), v.extent(2)},
                     at);
}

std::optional<Value> expand_op(Builder& b, const op::AttentionMap& op, Inputs in, Location at) {
    return attention_map(b, op, in[0], in[1], in.subspan(2), at);
}

std::optional<Value> expand_op(Builder& b, const op::AttentionApply&, Inputs in, Location at) {
    return attention_apply(b, in[0], in[1], at);
}

std::optional<Value> expand_op(Builder& b, const op::Attention& op, Inputs in, Location at) {
    return attention_apply(b, attention_map(b, op, in[0], in[1], in.subspan(3), at), in[2], at);
}

std::optional<Value> expand_op(Builder& b, const op::Residual& op, Inputs in, Location at) {
    Value branch = in[1];
    if (in.size() == 3) branch = b.mul(branch, in[2], at);
    const Value kept = b.drop_path(branch, op.drop_path, at);
    if (kept.id() != branch.id()) b.name_like_scope(kept);
    return b.add(in[0], kept, at);
}

std::optional<Value> expand_op(Builder& b, const op::SqueezeExcite&, Inputs in, Location at) {
    const Value mean = b.reduce(in[0], op::Reduce::Kind::mean, {2, 3}, true, at);
    const Value reduced = b.activation(b.conv2d(mean, {in[1], in[2]}, {}, at), Kind::relu, at);
    const Value gate = b.activation(b.conv2d(reduced, {in[3], in[4]}, {}, at), Kind::sigmoid, at);
    return b.mul(in[0], gate, at);
}

std::optional<Value> expand_op(Builder& b, const op::Outlook& op, Inputs in, Location at) {
    const Shape& values = in[0].shape();   // [B, H, W, D]
    const Shape& windows = in[1].shape();  // [B, h, w, heads * k^4]
    const std::int64_t area = op.kernel * op.kernel;
    const std::int64_t count = windows[1] * windows[2];
    const std::int64_t head_dim = values[3] / op.heads;
    const op::Unfold unfold{op.kernel, op.stride, op.kernel / 2};
    const op::Fold fold{op.kernel, op.stride, op.kernel / 2, values[1], values[2]};

    Value v = b.unfold(b.permute(in[0], {0, 3, 1, 2}, at), unfold, at);  // [B, D*k*k, L]
    v = b.reshape(v, {values[0], op.heads, head_dim, area, count}, at);
    v = b.permute(v, {0, 1, 4, 3, 2}, at);  // [B, heads, L, k*k, head_dim]
    Value mix = b.reshape(in[1], {values[0], count, op.heads, area, area}, at);
    mix = b.softmax(b.scale(b.permute(mix, {0, 2, 1, 3, 4}, at), op.scale, 0, at), -1, at);
    v = b.permute(b.matmul(mix, v, false, at), {0, 1, 4, 3, 2}, at);
    v = b.fold(b.reshape(v, {values[0], values[3] * area, count}, at), fold, at);
    return b.permute(v, {0, 2, 3, 1}, at);
}

std::optional<Value> expand_op(Builder& b, const op::PatchEmbed& op, Inputs in, Location at) {
    const Affine params{in[1], in.size() > 2 ? in[2] : Value()};
    return b.permute(b.conv2d(in[0], params, {.stride = op.size}, at), {0, 2, 3, 1}, at);
}

std::optional<Value> expand_op(Builder& b, const op::ConvUnit& op, Inputs in, Location at) {
    const Affine params{in[1], op.bias ? in[2] : Value()};
    Value y = b.conv2d(in[0], params, static_cast<const op::Conv2d&>(op), at);
    if (op.activation) y = b.activation(y, *op.activation, at);
    if (op.residual) y = b.add(in.back(), y, at);
    return op.relu_last ? b.activation(y, Kind::relu, at) : y;
}

std::optional<Value> expand_op(Builder& b, const op::ClassAttention& op, Inputs in, Location at) {
    const Value keys = b.linear(in[1], {in[2], {}}, at);
    const Value values = b.linear(in[1], {in[3], in.size() > 4 ? in[4] : Value()}, at);
    return attention_apply(b, attention_map(b, op, in[0], keys, {}, at), values, at);
}

std::optional<Value> expand_op(Builder& b, const op::PatchMix&, Inputs in, Location at) {
    const Affine params{in[1], in.size() > 2 ? in[2] : Value()};
    return b.permute(b.linear(b.permute(in[0], {0, 2, 1}, at), params, at), {0, 2, 1}, at);
}

Value normed(Builder& b, const op::BranchOptions& op, const BranchInputs<Value>& in, Location at) {
    if (!op.norm) return in.x;
    const Value inputs[] = {in.x, in.norm_weight, in.norm_bias};
    return *expand_op(b, op::LayerNorm{op.epsilon}, inputs, at);
}

// The residual that ends a branch; it draws under the branch's name.
Value joined(Builder& b, const op::BranchOptions& op, const BranchInputs<Value>& in, Value branch,
             Location at) {
    std::vector<Value> inputs{in.x, branch};
    if (op.gain) inputs.push_back(in.gain);
    return *expand_op(b, op::Residual{op.drop_path}, inputs, at);
}

std::optional<Value> expand_op(Builder& b, const op::MlpBranch& op, Inputs inputs, Location at) {
    const BranchInputs<Value> in = branch_inputs(op, inputs);
    const Value hidden = b.gelu(b.linear(normed(b, op, in, at), {in.weight1, in.bias1}, at), at);
    return joined(b, op, in, b.linear(hidden, {in.weight2, in.bias2}, at), at);
}

std::optional<Value> expand_op(Builder& b, const op::AttentionBranch& op, Inputs inputs,
                               Location at) {
    const BranchInputs<Value> in = branch_inputs(op, inputs);
    const std::int64_t dim = in.x.extent(-1);
    const Value qkv = b.linear(normed(b, op, in, at), {in.weight1, in.bias1}, at);
    const auto third = [&](std::int64_t i) { return b.slice(qkv, -1, i * dim, (i + 1) * dim, at); };
    const Value map = attention_map(b, op.attention, third(0), third(1), in.mixes, at);
    const Value mixed = attention_apply(b, map, third(2), at);
    return joined(b, op, in, b.linear(mixed, {in.weight2, in.bias2}, at), at);
}

}  // namespace

Graph decompose(const Graph& graph) {
    return decompose(graph, [](const Op&) { return true; });
}

Graph decompose(const Graph& graph, const std::function<bool(const Op&)>& which) {
    Builder b = Builder::rewriting(graph);
    std::vector<Value> replaced(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        std::vector<Value> inputs;
        for (const std::size_t id : node.inputs) inputs.push_back(replaced[id]);
        std::optional<Value> expanded;
        if (which(node.op)) {
            const Builder::Scope scope = b.scope(node.name);
            expanded = std::visit(
                [&](const auto& op) { return expand_op(b, op, Inputs(inputs), node.where); },
                node.op);
        }
        replaced[node.id] = expanded ? *expanded : b.copy(node, inputs);
    }
    for (const auto& [name, id] : graph.outputs) b.output(name, replaced[id]);
    return b.finish();
}

}  // namespace cait
