// CaiT's class-attention block, shared with PatchConvNet: a few tokens ask the patches and are
// updated; the patches stay as they are.
#pragma once

#include "models/block.h"

namespace cait {

struct ClassBlockOptions {
    std::int64_t heads = 1;
    double mlp_ratio = 4;
    bool tokens_in_keys = true;  // whether the tokens are among their own keys
    BranchWeight weight = {};
    BlockInit init = {};
    NormPlace norm_place = NormPlace::pre;
    std::int64_t ratio_index =
        0;  // of the tap residual_ratio.N for the attention; the MLP's is next
};

// Block `index` of the scope "blocks_token_only": tokens [B, T, D], patches [B, N, D] → [B, T, D].
// Parameters norm1, attn.{q,k,v,proj}, gamma_1, norm2, mlp, gamma_2; tap class_attention.N.
Value class_block(Builder& b, std::int64_t index, Value tokens, Value patches,
                  const ClassBlockOptions& options, Location where = Location::current());

}  // namespace cait
