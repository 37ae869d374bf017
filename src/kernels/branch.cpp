#include "kernels/branch.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace cait::kernels {

void norm_chunk(const BranchOptions& o, const Chunks& chunks, Share pieces, const float* x,
                const MutableRows& normed) {
    timed(o.profile, Part::norm, [&] {
        MutableRows to = normed;
        for (Index p = pieces.begin; p < pieces.end; ++p) {
            const Piece piece = chunks.piece(p);
            const float* rows = x + (piece.image * o.tokens + piece.row) * o.dim;
            if (o.norm_weight == nullptr)
                best_kernels().stage(rows_of(rows, o.dim), piece.rows, o.dim, 1, to);
            else
                best_kernels().layer_norm(rows, o.norm_weight, o.norm_bias, o.epsilon, piece.rows,
                                          o.dim, to);
            to = to.from(piece.rows);
        }
    });
}

void fill_segments(const BranchOptions& o, const Chunks& chunks, Share pieces, const float* x,
                   float* y, Segment* segments) {
    for (Index p = pieces.begin; p < pieces.end; ++p) {
        const Piece piece = chunks.piece(p);
        const Index at = (piece.image * o.tokens + piece.row) * o.dim;
        *segments++ = {x + at, y + at, o.factors == nullptr ? 1 : o.factors[piece.image]};
    }
}

void copy_dropped(const BranchOptions& o, const float* from, float* to) {
    if (o.factors == nullptr) return;
    const Index size = o.tokens * o.dim;
    for (Index i = 0; i < o.batch; ++i)
        if (o.factors[i] == 0) std::copy_n(from + i * size, size, to + i * size);
}

}  // namespace cait::kernels
