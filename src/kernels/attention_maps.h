// The maps of a block of queries, [heads, rows, keys], which both directions of attention compute:
// softmax(mix(scale * q · k^T)), mixed once more. Rows of a map are padded to whole registers.
#pragma once

#include "kernels/attention.h"
#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/seen_keys.h"

namespace cait::kernels {

// Queries taken at a time, so that the maps of all heads fit.
Index block_queries(const AttentionShape& shape);

// Floats from one row of a map to the next, and of a whole block's maps of all heads.
Index map_ld(const AttentionShape& shape);
Index map_floats(const AttentionShape& shape);

class AttentionMaps {
public:
    AttentionMaps(const AttentionShape& shape, Arena& arena);

    // Packs the keys of an image; maps follow for block after block of its queries.
    void set_keys(const Rows& k);
    // Fills scores, weights and, where there is a mix behind the softmax, mixed(), of queries
    // [first, first + rows); q has the first of all.
    void compute(const Rows& q, Index first, Index rows);

    Index ld() const { return ld_; }
    Index step() const { return step_; }  // from one head's map to the next
    // Head h's map that multiplies the values, as floats.
    float* mixed(Index head) const { return mixed_ + head * step_; }
    float* weights(Index head) const { return weights_ + head * step_; }  // after the softmax
    float* scores(Index head) const { return scores_ + head * step_; }    // scaled, not mixed

    // A few rows of all heads' maps at a time stay in the first-level cache from one step to the
    // next. Calls work(first element of a map, rows).
    template <class Work>
    void for_stripes(Index rows, const Work& work) const {
        constexpr Index kStripeFloats = 2048;
        const Index stripe = std::max<Index>(1, kStripeFloats / (s_.heads * ld_));
        for (Index row = 0; row < rows; row += stripe)
            work(row * ld_, std::min(stripe, rows - row));
    }

private:
    // Of the queries from `place` on.
    void weigh(float* scores, Index place, Index rows) const;

    const AttentionShape& s_;
    SeenKeys seen_;
    Index ld_, step_;
    Index key_bytes_;
    float *scores_, *weights_, *mixed_;
    std::byte *keys_, *query_, *scratch_;
};

// One head of rows, as products read it.
inline Rows head_of(const Rows& rows, const AttentionShape& shape, Index head) {
    return rows.from(0, head * shape.head_dim);
}

}  // namespace cait::kernels
