// Attention of few queries, such as a class token, without projecting the keys and values of all
// patches: q · (Wk u) is (Wk^T q) · u, and the sum over weights · (Wv u) is Wv · (the sum over
// weights · u). The work grows with the patches, not with the patches times the width.
#pragma once

#include <span>

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct ClassAttention {
    Index batch = 0, queries = 0, keys = 0, heads = 1, head_dim = 0;
    float scale = 1;
    // By head: the rows [head_dim, dim] of the key map, upright, and of the value map, packed like
    // any linear map's. A bias of the keys shifts all scores of a query alike and changes nothing.
    std::span<const PackedView> key_weights = {}, value_weights = {};
    const float* value_bias = nullptr;  // [dim] or null
    Format format = Format::f32;        // of the products' operands
    int threads = 1;

    Index dim() const { return heads * head_dim; }
};

// Where row r of image i stands: i * image_step + r * ld.
struct ImageRows {
    const float* data = nullptr;
    Index image_step = 0;
    Index ld = 0;

    Rows of(Index image) const { return rows_of(data + image * image_step, ld); }
};

// q [batch, queries, dim], tokens [batch, keys, dim] → y [batch, queries, dim], dense
void class_attention_forward(const ClassAttention& c, const ImageRows& q, const ImageRows& tokens,
                             float* y, Workspace& workspace);

}  // namespace cait::kernels
