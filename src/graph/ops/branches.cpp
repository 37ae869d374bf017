// The residual branches of a transformer block: their sum, and the two that fuse() joins into one
// op each.
#include "graph/builder.h"
#include "graph/ops.h"
#include "graph/ops/support.h"

namespace cait::op {

namespace {

// An MLP's second map takes what its first gives; attention makes D of the 3D that qkv gives.
template <class Op>
BranchInputs<Shape> expect_branch(const Op& op, Shapes inputs, std::size_t mixes) {
    const std::size_t count = (op.norm ? 5 : 3) + std::size_t(op.bias1) + std::size_t(op.bias2) +
                              mixes + std::size_t(op.gain);
    expect_count(op.kName, inputs, count, count);
    BranchInputs<Shape> in = branch_inputs(op, inputs);
    expect_rank(op.kName, "tokens", in.x, 3);
    expect_rank(op.kName, "a first weight", in.weight1, 2);
    const std::int64_t dim = in.x[2], first = in.weight1[0];
    constexpr bool is_attention = std::is_same_v<Op, AttentionBranch>;
    const std::int64_t second = is_attention ? dim : first;
    if (op.norm) {
        expect_shape(op.kName, "a norm weight", in.norm_weight, {dim});
        expect_shape(op.kName, "a norm bias", in.norm_bias, {dim});
    }
    expect_shape(op.kName, "a first weight", in.weight1, {is_attention ? 3 * dim : first, dim});
    if (op.bias1) expect_shape(op.kName, "a first bias", in.bias1, {first});
    expect_shape(op.kName, "a second weight", in.weight2, {dim, second});
    if (op.bias2) expect_shape(op.kName, "a second bias", in.bias2, {dim});
    if (op.gain && in.gain != Shape{dim} && in.gain != Shape{1})
        reject(op.kName, "expected a gain of {} or 1 values, got {}", dim, in.gain.to_string());
    return in;
}

Value normed(Builder& b, const BranchOptions& op, const BranchInputs<Value>& in, Location at) {
    if (!op.norm) return in.x;
    const Value inputs[] = {in.x, in.norm_weight, in.norm_bias};
    return LayerNorm{op.epsilon}.decompose(b, inputs, at);
}

// The residual that ends a branch; it draws under the branch's name.
Value joined(Builder& b, const BranchOptions& op, const BranchInputs<Value>& in, Value branch,
             Location at) {
    std::vector<Value> inputs{in.x, branch};
    if (op.gain) inputs.push_back(in.gain);
    return Residual{op.drop_path}.decompose(b, inputs, at);
}

}  // namespace

Shape Residual::infer(Shapes in) const {
    expect_count(kName, in, 2, 3);
    expect_shape(kName, "a branch", in[1], in[0]);
    if (in.size() == 3 && in[2] != Shape{in[0][-1]} && in[2] != Shape{1})
        reject(kName, "expected a scale of {} or 1 values, got {}", in[0][-1], in[2].to_string());
    return in[0];
}

std::string Residual::attributes() const {
    return drop_path > 0 ? fmt::format("drop_path={:g}", drop_path) : "";
}

Value Residual::decompose(Builder& b, Values in, Location at) const {
    Value branch = in[1];
    if (in.size() == 3) branch = b.mul(branch, in[2], at);
    const Value kept = b.drop_path(branch, drop_path, at);
    if (kept.id() != branch.id()) b.name_like_scope(kept);
    return b.add(in[0], kept, at);
}

std::string BranchOptions::attributes() const {
    std::string text = norm ? fmt::format("epsilon={:g}", epsilon) : std::string("no norm");
    if (bias1) text += " bias1";
    if (bias2) text += " bias2";
    if (gain) text += " gain";
    if (drop_path > 0) text += fmt::format(" drop_path={:g}", drop_path);
    return text;
}

Shape MlpBranch::infer(Shapes in) const { return expect_branch(*this, in, 0).x; }
Value MlpBranch::decompose(Builder& b, Values inputs, Location at) const {
    const BranchInputs<Value> in = branch_inputs(*this, inputs);
    const Value hidden = b.gelu(b.linear(normed(b, *this, in, at), {in.weight1, in.bias1}, at), at);
    return joined(b, *this, in, b.linear(hidden, {in.weight2, in.bias2}, at), at);
}

Shape AttentionBranch::infer(Shapes inputs) const {
    const BranchInputs<Shape> in = expect_branch(*this, inputs, mix_inputs(attention));
    expect_heads(kName, attention, in.x[2], in.mixes);
    return in.x;
}

std::string AttentionBranch::attributes() const {
    return fmt::format("{} {}", attention.attributes(), BranchOptions::attributes());
}

Value AttentionBranch::decompose(Builder& b, Values inputs, Location at) const {
    const BranchInputs<Value> in = branch_inputs(*this, inputs);
    const std::int64_t dim = in.x.extent(-1);
    const Value qkv = b.linear(normed(b, *this, in, at), {in.weight1, in.bias1}, at);
    const auto third = [&](std::int64_t i) { return b.slice(qkv, -1, i * dim, (i + 1) * dim, at); };
    const Value q = third(0), k = third(1);
    const Value map = attention.map(b, q, k, in.mixes, at);
    const Value mixed = AttentionOptions::apply(b, map, third(2), at);
    return joined(b, *this, in, b.linear(mixed, {in.weight2, in.bias2}, at), at);
}

}  // namespace cait::op
