#include "kernels/train/branch_backward.h"

#include <algorithm>

#include "kernels/operand.h"

namespace cait::kernels {

Rows branch_gradient(const BranchOptions& o, const Chunks& chunks, Share pieces, const float* dy,
                     const MutableRows& memory) {
    const Piece first = chunks.piece(pieces.begin);
    if (o.factors == nullptr && row_of(o.format).in_place)
        return rows_of(dy + (first.image * o.tokens + first.row) * o.dim, o.dim);
    timed(o.profile, Part::residual, [&] {
        MutableRows to = memory;
        for (Index p = pieces.begin; p < pieces.end; ++p) {
            const Piece piece = chunks.piece(p);
            best_kernels().stage(rows_of(dy + (piece.image * o.tokens + piece.row) * o.dim, o.dim),
                                 piece.rows, o.dim,
                                 o.factors == nullptr ? 1 : o.factors[piece.image], to);
            to = to.from(piece.rows);
        }
    });
    return memory;
}

void norm_chunk_backward(const BranchOptions& o, const Chunks& chunks, Share pieces, const float* x,
                         const float* d_normed, const float* dy, float* dx, float* d_weight,
                         float* d_bias) {
    timed(o.profile, Part::norm, [&] {
        for (Index p = pieces.begin; p < pieces.end; ++p) {
            const Piece piece = chunks.piece(p);
            const Index at = (piece.image * o.tokens + piece.row) * o.dim;
            best_kernels().train.layer_norm(x + at, o.norm_weight, o.epsilon, d_normed, dy + at,
                                            piece.rows, o.dim, dx + at, d_weight, d_bias);
            d_normed += piece.rows * o.dim;
        }
    });
}

void add_weight_product(const BranchOptions& o, const Rows& from, Index rows, Index columns,
                        const PackedView& packed, void* transposed, void* scratch, float* sums) {
    Lhs a;
    timed(o.profile, Part::pack,
          [&] { a = staged_transposed(o.format, from, rows, columns, transposed); });
    timed(o.profile, Part::gemm, [&] {
        products(o.format).multiply({.m = columns,
                                     .n = packed.columns,
                                     .k = rows,
                                     .a = a,
                                     .b = packed,
                                     .c = sums,
                                     .c_ld = packed.columns,
                                     .accumulate = true,
                                     .scratch = scratch});
    });
}

void finish_output(const BranchOptions& o, Index inner, const float* weight, const float* bias,
                   const float* products, const float* columns, const OutputGradients& gradients) {
    run_workers(std::max(1, o.threads), [&](int worker) {
        const Share share = share_of(o.dim, worker, std::max(1, o.threads));
        for (Index c = share.begin; c < share.end; ++c) {
            const float gain = o.gain == nullptr ? 1 : o.gain[c];
            double d_gain = bias == nullptr ? 0 : double(bias[c]) * double(columns[c]);
            for (Index j = 0; j < inner; ++j) {
                const float product = products[j * o.dim + c];
                gradients.weight[c * inner + j] = gain * product;
                d_gain += double(weight[c * inner + j]) * double(product);
            }
            if (gradients.bias != nullptr) gradients.bias[c] = gain * columns[c];
            if (gradients.gain != nullptr) gradients.gain[c] = float(d_gain);
        }
    });
}

void sum_groups(float* parts, Index groups, Index count, int threads) {
    if (groups == 1) return;
    run_workers(std::max(1, threads), [&](int worker) {
        const Share share = share_of(count, worker, std::max(1, threads));
        for (Index group = 1; group < groups; ++group)
            best_kernels().add(parts + group * count + share.begin, share.end - share.begin,
                               parts + share.begin);
    });
}

}  // namespace cait::kernels
