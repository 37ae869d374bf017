// x + factor * gain * proj(attention(qkv(LayerNorm(x)))): the attention half of a transformer
// block.
#pragma once

#include "kernels/attention.h"
#include "kernels/branch.h"

namespace cait::kernels {

struct AttentionBranch : BranchOptions {
    AttentionShape attention;          // queries and keys are the tokens
    PackedView weight_qkv;             // forward_source of [3 * dim, dim]
    const float* bias_qkv = nullptr;   // [3 * dim] or null
    PackedView weight_proj;            // forward_source of [dim, dim]
    const float* bias_proj = nullptr;  // [dim] or null
};

// What the backward pass needs beside x, in the branch's format and in rows of the active images:
// q, k and v, kept_qkv() elements, and the attention's output, kept_mixed() elements; null where no
// backward pass follows.
struct AttentionKept {
    void* qkv = nullptr;
    void* mixed = nullptr;
};
Index kept_qkv(const BranchOptions& branch);
Index kept_mixed(const BranchOptions& branch);
MutableRows qkv_rows(const BranchOptions& branch, void* kept);
MutableRows mixed_rows(const BranchOptions& branch, void* kept);

void attention_branch_forward(const AttentionBranch& branch, const float* x, float* y,
                              const AttentionKept& kept, Workspace& workspace);

}  // namespace cait::kernels
