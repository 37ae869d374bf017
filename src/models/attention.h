// Self-attention as ViT has it: one linear map makes queries, keys and values, another one follows.
#pragma once

#include "graph/builder.h"
#include "models/dropout.h"

namespace cait {

struct SelfAttention {
    std::int64_t heads = 1;
    bool qkv_bias = true;
    bool mix_before = false;  // talking heads
    bool mix_after = false;
    std::int64_t tap = 0;         // N of the taps self_attention.N and class_attention.N
    bool has_class_token = true;  // whether the first token is one and has the second tap
    Init query_key_init = Init::trunc_normal(0.02);
    Init value_init = Init::trunc_normal(0.02);
    Init proj_init = Init::trunc_normal(0.02);
    DropoutConfig dropout = {};
};

// x [B, N, D] → [B, N, D]; parameters name.{qkv,proj} and, with talking heads, name.{proj_l,proj_w}
Value self_attention(Builder& b, std::string_view name, Value x, const SelfAttention& options,
                     Location where = Location::current());

// Queries, keys and values by one linear map "qkv" in the current scope.
AttentionInputs project_qkv(Builder& b, Value x, const LinearOptions& options = {},
                            Location where = Location::current());

// The class token's row of the attention weights, if somebody wants the tap.
void output_class_row(Builder& b, std::int64_t tap, const AttentionInputs& inputs,
                      std::int64_t heads, Location where = Location::current());

// 1 / sqrt(width of a head)
double attention_scale(std::int64_t dim, std::int64_t heads);

}  // namespace cait
