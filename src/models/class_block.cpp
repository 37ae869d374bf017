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
    const NormPlace place = options.norm_place;
    const Affine norm = place == NormPlace::none ? Affine{} : b.norm_params("norm1", dim, where);
    const auto normed = [&](NormPlace here, Value x) {
        return place == here ? b.layer_norm(x, norm, kNormEpsilon, where) : x;
    };
    const Value attended = class_attention(b, index, normed(NormPlace::pre, tokens),
                                           normed(NormPlace::pre, patches), options, where);
    // Neither stochastic depth nor dropout in this stage.
    tokens = weighted_residual(b, tokens, attended,
                               branch_weight(b, "gamma_1", dim, options.weight, where), 0,
                               options.ratio_index, where);
    tokens = normed(NormPlace::post, tokens);
    const Value fed = mlp(b, "mlp", norm_at(b, place, NormPlace::pre, "norm2", tokens, where),
                          options.mlp_ratio, options.init, 0, Nonlinearity::gelu, where);
    tokens =
        weighted_residual(b, tokens, fed, branch_weight(b, "gamma_2", dim, options.weight, where),
                          0, options.ratio_index + 1, where);
    return norm_at(b, place, NormPlace::post, "norm2", tokens, where);
}

}  // namespace cait
