#include "models/class_block.h"

#include <fmt/format.h>

#include "models/attention.h"
#include "models/parts.h"

namespace cait {

namespace {

Value class_attention(Builder& b, std::int64_t index, Value tokens, Value patches,
                      const ClassBlockOptions& options, Location where) {
    const Builder::Scope scope = b.attention_scope("attn");
    const std::int64_t dim = tokens.extent(-1);
    const BlockInit& init = options.init;
    const Value keys = options.tokens_in_keys ? b.concat({tokens, patches}, 1, where) : patches;
    const AttentionInputs in{b.linear("q", tokens, dim, {.weight_init = init.query_key}, where),
                             b.linear("k", keys, dim, {.weight_init = init.query_key}, where),
                             b.linear("v", keys, dim, {.weight_init = init.value}, where),
                             {},
                             {}};
    const Value mixed = b.attention(in, options.heads, attention_scale(dim, options.heads),
                                    fmt::format("class_attention.{}", index), where);
    return b.linear("proj", mixed, dim, {.weight_init = init.proj}, where);
}

}  // namespace

Value class_block(Builder& b, std::int64_t index, Value tokens, Value patches,
                  const ClassBlockOptions& options, Location where) {
    const Builder::Scope scope = b.block_scope("blocks_token_only", index);
    const std::int64_t dim = tokens.extent(-1);
    const Affine norm = b.norm_params("norm1", dim, where);
    const Value attended =
        class_attention(b, index, b.layer_norm(tokens, norm, kNormEpsilon, where),
                        b.layer_norm(patches, norm, kNormEpsilon, where), options, where);
    // Neither stochastic depth nor dropout in this stage.
    tokens = weighted_residual(b, tokens, attended,
                               branch_weight(b, "gamma_1", dim, options.weight, where), 0,
                               options.ratio_index, where);
    const Value fed = mlp(b, "mlp", b.layer_norm("norm2", tokens, kNormEpsilon, where),
                          options.mlp_ratio, options.init, 0, where);
    return weighted_residual(b, tokens, fed,
                             branch_weight(b, "gamma_2", dim, options.weight, where), 0,
                             options.ratio_index + 1, where);
}

}  // namespace cait
