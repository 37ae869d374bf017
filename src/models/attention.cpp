#include "models/attention.h"

#include <fmt/format.h>

#include <cmath>

namespace cait {

double attention_scale(std::int64_t dim, std::int64_t heads) {
    const std::int64_t head_dim = dim / heads;
    return 1.0 / std::sqrt(double(head_dim));
}

AttentionInputs project_qkv(Builder& b, Value x, const LinearOptions& options, Location where) {
    const std::int64_t dim = x.extent(-1);
    const Value qkv = b.linear("qkv", x, 3 * dim, options, where);
    return {b.slice(qkv, -1, 0, dim, where),
            b.slice(qkv, -1, dim, 2 * dim, where),
            b.slice(qkv, -1, 2 * dim, 3 * dim, where),
            {},
            {}};
}

void output_class_row(Builder& b, std::int64_t tap, const AttentionInputs& inputs,
                      std::int64_t heads, Location where) {
    b.output(fmt::format("class_attention.{}", tap), [&] {
        // Only the class token's query: one row instead of the whole map.
        AttentionInputs row = inputs;
        row.q = b.slice(inputs.q, 1, 0, 1, where);
        return b.attention_map(row, heads, attention_scale(row.q.extent(-1), heads), where);
    });
}

Value self_attention(Builder& b, std::string_view name, Value x, const SelfAttention& options,
                     Location where) {
    const Builder::Scope scope = b.attention_scope(name);
    const std::int64_t dim = x.extent(-1);
    const std::int64_t heads = options.heads;
    const Init qkv_init =
        Init::stacked({options.query_key_init, options.query_key_init, options.value_init});
    AttentionInputs in =
        project_qkv(b, x, {.bias = options.qkv_bias, .weight_init = qkv_init}, where);
    if (options.mix_before) in.mix_before = b.linear_params("proj_l", heads, heads, {}, where);
    if (options.mix_after) in.mix_after = b.linear_params("proj_w", heads, heads, {}, where);
    in.dropout = options.dropout.attention;
    const Value mixed = b.attention(in, heads, attention_scale(dim, heads),
                                    fmt::format("self_attention.{}", options.tap), where);
    if (options.has_class_token) output_class_row(b, options.tap, in, heads, where);
    const Value out = b.linear("proj", mixed, dim, {.weight_init = options.proj_init}, where);
    return b.dropout(out, options.dropout.tokens, where);
}

}  // namespace cait
