#include "kernels/attention_maps.h"

#include <algorithm>

namespace cait::kernels {

namespace {

constexpr Index kMapFloats = 1 << 17;  // of one set of maps, half a MiB

}  // namespace

Index block_queries(const AttentionShape& s) {
    const Index fitting = kMapFloats / std::max<Index>(1, s.heads * s.keys);
    return std::min(s.queries, std::max<Index>(8, fitting / 8 * 8));
}

Index map_ld(const AttentionShape& s) { return round_up(s.keys, best_kernels().width); }

Index map_floats(const AttentionShape& s) { return s.heads * block_queries(s) * map_ld(s); }

AttentionMaps::AttentionMaps(const AttentionShape& s, Arena& arena)
    : s_(s),
      seen_(s.keys, s.key_mask, s.causal),
      ld_(map_ld(s)),
      step_(block_queries(s) * ld_),
      key_bytes_(aligned(products(s.format).packed_bytes(s.head_dim, s.keys))),
      scores_(arena.floats(map_floats(s))),
      weights_(s.before_weight == nullptr ? scores_ : arena.floats(map_floats(s))),
      mixed_(s.after_weight == nullptr ? weights_ : arena.floats(map_floats(s))),
      keys_(arena.take(s.heads * key_bytes_)),
      query_(arena.take(lhs_bytes(s.format, block_queries(s), s.head_dim))),
      scratch_(arena.take(product_scratch(s.head_dim))) {}

void AttentionMaps::set_keys(const Rows& k) {
    for (Index h = 0; h < s_.heads; ++h)
        products(s_.format).pack(
            transposed_source(head_of(k, s_, h), s_.keys, s_.head_dim, s_.scale),
            keys_ + h * key_bytes_);
}

void AttentionMaps::weigh(float* scores, Index place, Index rows) const {
    if (s_.key_mask == nullptr && !s_.causal)
        return best_kernels().softmax(scores, rows, s_.keys, ld_, s_.format);
    for (Index r = 0; r < rows; ++r)
        seen_.weigh(scores + r * ld_, s_.first_query + place + r, s_.format);
}

void AttentionMaps::compute(const Rows& q, Index first, Index rows) {
    const ProductKernels& kernels = products(s_.format);
    const KernelTable& table = best_kernels();
    // Columns up to ld_ are computed as well: packed keys are padded with zeros.
    for (Index h = 0; h < s_.heads; ++h)
        kernels.multiply(
            {.m = rows,
             .n = ld_,
             .k = s_.head_dim,
             .a = staged(s_.format, head_of(q.from(first), s_, h), rows, s_.head_dim, query_),
             .b = {keys_ + h * key_bytes_, s_.format, kernels.layout, s_.head_dim, s_.keys},
             .c = scores(h),
             .c_ld = ld_,
             .scratch = scratch_});
    for_stripes(rows, [&](Index at, Index stripe) {
        const Index count = stripe * ld_;
        if (s_.before_weight != nullptr)
            table.mix_heads({s_.heads, count, step_, s_.before_weight, s_.before_bias, false},
                            scores_ + at, weights_ + at);
        for (Index h = 0; h < s_.heads; ++h) weigh(weights(h) + at, first + at / ld_, stripe);
        if (s_.after_weight != nullptr)
            table.mix_heads({s_.heads, count, step_, s_.after_weight, s_.after_bias, false},
                            weights_ + at, mixed_ + at);
    });
}

}  // namespace cait::kernels
