#include "kernels/train/attention_branch_backward.h"

#include <algorithm>

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"

namespace cait::kernels {

namespace {

// One group's sums, one after the other.
struct AttentionBranchSums {
    Index dim, heads;
    Index weight_qkv() const { return 0; }                     // [3 * dim, dim]
    Index products() const { return 3 * dim * dim; }           // [dim, dim], see finish_output
    Index bias_qkv() const { return 4 * dim * dim; }           // [3 * dim]
    Index columns() const { return bias_qkv() + 3 * dim; }     // [dim]
    Index norm_weight() const { return columns() + dim; }      // [dim]
    Index norm_bias() const { return norm_weight() + dim; }    // [dim]
    Index before_weight() const { return norm_bias() + dim; }  // [heads, heads]
    Index after_weight() const { return before_weight() + heads * heads; }
    Index before_bias() const { return after_weight() + heads * heads; }  // [heads]
    Index after_bias() const { return before_bias() + heads; }
    Index size() const { return round_up(after_bias() + heads, 16); }
};

// What one worker needs for a chunk.
struct AttentionBranchMemory {
    MutableRows normed, gradient, d_mixed;
    float *d_qkv, *d_normed;
    std::byte *staged_qkv, *packed_normed, *packed_gradient, *transposed, *attention, *scratch;

    AttentionBranchMemory(const AttentionBackward& b, const Chunks& chunks, Arena& arena) {
        const Index rows = chunks.most_rows();
        const Index packed = products(b.format).packed_bytes(rows, b.dim);
        normed = arena.rows(b.format, rows, b.dim);
        gradient = arena.rows(b.format, rows, b.dim);
        d_mixed = arena.rows(b.format, rows, b.dim);
        d_qkv = arena.floats(rows * 3 * b.dim);
        d_normed = arena.floats(rows * b.dim);
        staged_qkv =
            row_of(b.format).in_place ? nullptr : arena.take(lhs_bytes(b.format, rows, 3 * b.dim));
        packed_normed = arena.take(packed);
        packed_gradient = arena.take(packed);
        transposed = arena.take(transposed_bytes(b.format, rows, 3 * b.dim));
        attention = arena.take(attention_backward_workspace(b.attention));
        scratch = arena.take(product_scratch(std::max(3 * b.dim, rows)));
    }
};

class AttentionBranchBackward {
public:
    AttentionBranchBackward(const AttentionBackward& branch, const Chunks& chunks, const float* x,
                            const AttentionKept& kept, const float* dy, float* dx)
        : b_(branch), chunks_(chunks), x_(x), kept_(kept), dy_(dy), dx_(dx) {}

    void run_chunk(Share pieces, const AttentionBranchMemory& m, float* sums) const {
        const Index rows = chunks_.rows_of(pieces), dim = b_.dim;
        const Index first = chunks_.piece(pieces.begin).kept;
        norm_chunk(b_, chunks_, pieces, x_, m.normed);
        const Rows gradient = branch_gradient(b_, chunks_, pieces, dy_, m.gradient);
        PackedView packed_normed, packed_gradient;
        timed(b_.profile, Part::pack, [&] {
            packed_normed =
                pack_into(upright_source(m.normed, rows, dim), b_.format, m.packed_normed);
            packed_gradient =
                pack_into(upright_source(gradient, rows, dim), b_.format, m.packed_gradient);
        });
        timed(b_.profile, Part::other,
              [&] { best_kernels().add_columns(gradient, rows, dim, sums + at_.columns()); });
        to_mixed(rows, gradient, m);
        add_weight_product(b_, mixed_rows(b_, kept_.mixed).from(first), rows, dim, packed_gradient,
                           m.transposed, m.scratch, sums + at_.products());
        timed(b_.profile, Part::attention,
              [&] { attend(rows, qkv_rows(b_, kept_.qkv).from(first), m, sums); });
        const Rows d_qkv = rows_of(m.d_qkv, 3 * dim);
        timed(b_.profile, Part::other,
              [&] { best_kernels().add_columns(d_qkv, rows, 3 * dim, sums + at_.bias_qkv()); });
        add_weight_product(b_, d_qkv, rows, 3 * dim, packed_normed, m.transposed, m.scratch,
                           sums + at_.weight_qkv());
        to_normed(rows, d_qkv, m);
        norm_chunk_backward(b_, chunks_, pieces, x_, m.d_normed, dy_, dx_, sums + at_.norm_weight(),
                            sums + at_.norm_bias());
    }

private:
    void to_mixed(Index rows, const Rows& gradient, const AttentionBranchMemory& m) const {
        const Epilogue plain{.out = m.d_mixed};
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = rows,
                                .n = b_.dim,
                                .k = b_.dim,
                                .a = lhs_of(gradient),
                                .b = b_.weight_proj,
                                .epilogue = &plain,
                                .scratch = m.scratch});
        });
    }

    void attend(Index rows, const Rows& qkv, const AttentionBranchMemory& m, float* sums) const {
        const Index dim = b_.dim;
        const MixGradients mixes{sums + at_.before_weight(), sums + at_.before_bias(),
                                 sums + at_.after_weight(), sums + at_.after_bias()};
        for (Index row = 0; row < rows; row += b_.tokens) {
            const Rows image = qkv.from(row);
            const MutableRows d = rows_of(m.d_qkv + row * 3 * dim, 3 * dim);
            attention_backward(b_.attention, image, image.from(0, dim), image.from(0, 2 * dim),
                               m.d_mixed.from(row), {d, d.from(0, dim), d.from(0, 2 * dim)}, mixes,
                               m.attention);
        }
    }

    void to_normed(Index rows, const Rows& d_qkv, const AttentionBranchMemory& m) const {
        Lhs a;
        timed(b_.profile, Part::pack,
              [&] { a = staged(b_.format, d_qkv, rows, 3 * b_.dim, m.staged_qkv); });
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = rows,
                                .n = b_.dim,
                                .k = 3 * b_.dim,
                                .a = a,
                                .b = b_.weight_qkv,
                                .c = m.d_normed,
                                .c_ld = b_.dim,
                                .scratch = m.scratch});
        });
    }

    const AttentionBackward& b_;
    const ProductKernels& products_ = products(b_.format);
    AttentionBranchSums at_{b_.dim, b_.attention.heads};
    const Chunks& chunks_;
    const float* x_;
    AttentionKept kept_;
    const float* dy_;
    float* dx_;
};

}  // namespace

void attention_branch_backward(const AttentionBackward& b, const float* x,
                               const AttentionKept& kept, const float* dy,
                               const AttentionGradients& gradients, Workspace& workspace) {
    const Index dim = b.dim, heads = b.attention.heads;
    const AttentionBranchSums at{dim, heads};
    const float* sums = sum_over_chunks(
        b, at.size(), true, workspace,
        [&](const Chunks& chunks, Arena& arena) { return AttentionBranchMemory(b, chunks, arena); },
        [&](const Chunks& chunks, Share pieces, const AttentionBranchMemory& memory, float* own) {
            AttentionBranchBackward(b, chunks, x, kept, dy, gradients.x)
                .run_chunk(pieces, memory, own);
        });
    copy_dropped(b, dy, gradients.x);
    timed(b.profile, Part::other, [&] {
        const auto total = [&](Index offset, Index count, float* to) {
            if (to != nullptr) std::copy_n(sums + offset, count, to);
        };
        total(at.weight_qkv(), 3 * dim * dim, gradients.weight_qkv);
        total(at.bias_qkv(), 3 * dim, gradients.bias_qkv);
        total(at.norm_weight(), dim, gradients.norm_weight);
        total(at.norm_bias(), dim, gradients.norm_bias);
        total(at.before_weight(), heads * heads, gradients.mixes.before_weight);
        total(at.before_bias(), heads, gradients.mixes.before_bias);
        total(at.after_weight(), heads * heads, gradients.mixes.after_weight);
        total(at.after_bias(), heads, gradients.mixes.after_bias);
        finish_output(b, dim, b.weight_proj_values, b.bias_proj, sums + at.products(),
                      sums + at.columns(), gradients.output);
    });
}

}  // namespace cait::kernels
