// Attention with talking heads, whole and in its two halves, with keys and values of its own, and
// of texts, where some keys do not count.
#include "graph/builder.h"
#include "graph/ops/support.h"

namespace cait::op {

namespace {

void expect_attention(std::string_view op, const AttentionOptions& options, Shapes in,
                      std::size_t tokens) {
    expect_count(op, in, tokens + mix_inputs(options), tokens + mix_inputs(options));
    for (std::size_t i = 0; i < tokens; ++i) expect_rank(op, "tokens", in[i], 3);
    const std::int64_t dim = in[0][-1];
    expect_heads(op, options, dim, in.subspan(tokens));
    for (std::size_t i = 1; i < tokens; ++i)
        expect_shape(op, "keys and values", in[i], {in[0][0], in[1][1], dim});
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

}  // namespace

std::string AttentionOptions::attributes() const {
    return fmt::format("heads={} scale={:.6g}{}{}", heads, scale, mix_before ? " mix_before" : "",
                       mix_after ? " mix_after" : "");
}

Value AttentionOptions::map(Builder& b, Value q, Value k, Values mixes, Location at) const {
    const Value queries = b.scale(split_heads(b, q, heads, at), scale, 0, at);
    Value map = b.matmul(queries, split_heads(b, k, heads, at), true, at);
    if (mix_before) {
        map = mix_heads(b, map, mixes[0], mixes[1], at);
        mixes = mixes.subspan(2);
    }
    map = b.softmax(map, -1, at);
    if (mix_after) map = mix_heads(b, map, mixes[0], mixes[1], at);
    return map;
}

Value AttentionOptions::apply(Builder& b, Value map, Value v, Location at) {
    const Value heads = b.matmul(map, split_heads(b, v, map.extent(1), at), false, at);
    return b.reshape(b.permute(heads, {0, 2, 1, 3}, at), {v.extent(0), map.extent(2), v.extent(2)},
                     at);
}

Shape AttentionMap::infer(Shapes in) const {
    expect_attention(kName, *this, in, 2);
    return {in[0][0], heads, in[0][1], in[1][1]};
}

Value AttentionMap::decompose(Builder& b, Values in, Location at) const {
    return map(b, in[0], in[1], in.subspan(2), at);
}

Shape Attention::infer(Shapes in) const {
    expect_attention(kName, *this, in, 3);
    return in[0];
}

Value Attention::decompose(Builder& b, Values in, Location at) const {
    return apply(b, map(b, in[0], in[1], in.subspan(3), at), in[2], at);
}

Shape AttentionApply::infer(Shapes in) const {
    expect_count(kName, in, 2, 2);
    expect_rank(kName, "a map", in[0], 4);
    expect_rank(kName, "values", in[1], 3);
    if (in[0][3] != in[1][1] || in[1][2] % in[0][1] != 0)
        reject(kName, "expected a map that fits the values, got {} and {}", in[0].to_string(),
               in[1].to_string());
    return {in[0][0], in[0][2], in[1][2]};
}

Value AttentionApply::decompose(Builder& b, Values in, Location at) const {
    return AttentionOptions::apply(b, in[0], in[1], at);
}

Value MaskedAttention::map(Builder& b, Value q, Value k, Value mask, Location at) const {
    const Value queries = b.scale(split_heads(b, q, heads, at), scale, 0, at);
    Value scores = b.matmul(queries, split_heads(b, k, heads, at), true, at);
    if (mask) {
        const Value hidden = b.scale(mask, -kHidden, kHidden, at);
        scores = b.add(scores, b.reshape(hidden, {mask.extent(0), 1, 1, mask.extent(1)}, at), at);
    }
    if (causal) scores = b.triangular(scores, kHidden, 0, at);
    return b.softmax(scores, -1, at);
}

Shape MaskedAttention::infer(Shapes in) const {
    expect_count(kName, in, 3, 4);
    expect_attention(kName, {.heads = heads}, in.first(3), 3);
    if (in.size() == 4) expect_shape(kName, "a mask", in[3], {in[1][0], in[1][1]});
    return in[0];
}

std::string MaskedAttention::attributes() const {
    return fmt::format("heads={} scale={:.6g}{}", heads, scale, causal ? " causal" : "");
}

Value MaskedAttention::decompose(Builder& b, Values in, Location at) const {
    const Value weights = map(b, in[0], in[1], in.size() > 3 ? in[3] : Value(), at);
    return AttentionOptions::apply(b, weights, in[2], at);
}

Shape ClassAttention::infer(Shapes in) const {
    expect_count(kName, in, 4, 5);
    for (const Shape& tokens : in.first(2)) expect_rank(kName, "tokens", tokens, 3);
    const std::int64_t dim = in[0][2];
    expect_heads(kName, *this, dim, {});
    expect_shape(kName, "tokens", in[1], {in[0][0], in[1][1], dim});
    expect_shape(kName, "a key weight", in[2], {dim, dim});
    expect_shape(kName, "a value weight", in[3], {dim, dim});
    if (in.size() == 5) expect_shape(kName, "a value bias", in[4], {dim});
    return in[0];
}

Value ClassAttention::decompose(Builder& b, Values in, Location at) const {
    const Value keys = b.linear(in[1], {in[2], {}}, at);
    const Value values = b.linear(in[1], {in[3], in.size() > 4 ? in[4] : Value()}, at);
    return apply(b, map(b, in[0], keys, {}, at), values, at);
}

}  // namespace cait::op
