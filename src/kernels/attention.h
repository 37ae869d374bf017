// Attention of one image, all heads at once: plain, with talking heads, with few queries (class
// attention), or of a text, where some keys do not count. Maps never leave the second-level cache:
// queries are taken a block at a time.
#pragma once

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

// Rows of q, k, v and of the output are heads * head_dim elements; head h starts at h * head_dim.
struct AttentionShape {
    Index queries = 0;
    Index keys = 0;
    Index heads = 0;
    Index head_dim = 0;
    float scale = 1;
    // Talking heads: [heads, heads] and [heads], before and after the softmax; null without.
    const float* before_weight = nullptr;
    const float* before_bias = nullptr;
    const float* after_weight = nullptr;
    const float* after_bias = nullptr;
    // Texts: which keys count, [keys], see SeenKeys; null: all. Of a causal text query i stands at
    // place first_query + i.
    const float* key_mask = nullptr;
    bool causal = false;
    Index first_query = 0;
    Format format = Format::f32;  // of the products' operands
};

// Bytes of scratch memory.
Index attention_workspace(const AttentionShape& shape);

void attention_forward(const AttentionShape& shape, const Rows& q, const Rows& k, const Rows& v,
                       const MutableRows& output, std::byte* workspace);

// The two halves, for those who look at the maps: head h's map is written to, and read from,
// map + h * map_step, rows of `keys` floats. The same workspace serves.
void attention_map_forward(const AttentionShape& shape, const Rows& q, const Rows& k, float* map,
                           Index map_step, std::byte* workspace);
void attention_apply_forward(const AttentionShape& shape, const float* map, Index map_step,
                             const Rows& v, const MutableRows& output, std::byte* workspace);

}  // namespace cait::kernels
