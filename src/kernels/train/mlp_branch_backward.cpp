#include "kernels/train/mlp_branch_backward.h"

#include <algorithm>

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"

namespace cait::kernels {

namespace {

// One group's sums, one after the other.
struct MlpBranchSums {
    Index dim, hidden;
    Index weight1() const { return 0; }                      // [hidden, dim]
    Index products() const { return hidden * dim; }          // [hidden, dim], see finish_output
    Index bias1() const { return 2 * hidden * dim; }         // [hidden]
    Index columns() const { return bias1() + hidden; }       // [dim]
    Index norm_weight() const { return columns() + dim; }    // [dim]
    Index norm_bias() const { return norm_weight() + dim; }  // [dim]
    Index size() const { return round_up(norm_bias() + dim, 16); }
};

// What one worker needs for a chunk.
struct MlpBranchMemory {
    MutableRows normed, gradient, d_before, after;
    float* d_normed;
    std::byte *packed_normed, *packed_gradient, *transposed, *scratch;

    MlpBranchMemory(const MlpBackward& b, const Chunks& chunks, Arena& arena) {
        const Index rows = chunks.most_rows();
        const Index packed = products(b.format).packed_bytes(rows, b.dim);
        normed = arena.rows(b.format, rows, b.dim);
        gradient = arena.rows(b.format, rows, b.dim);
        d_before = arena.rows(b.format, rows, kHiddenSlice);
        after = arena.rows(b.format, rows, kHiddenSlice);
        d_normed = arena.floats(rows * b.dim);
        packed_normed = arena.take(packed);
        packed_gradient = arena.take(packed);
        transposed = arena.take(transposed_bytes(b.format, rows, kHiddenSlice));
        scratch = arena.take(product_scratch(std::max({b.dim, kHiddenSlice, rows})));
    }
};

class MlpBranchBackward {
public:
    MlpBranchBackward(const MlpBackward& branch, const Chunks& chunks, const float* x,
                      const void* kept, const float* dy, float* dx)
        : b_(branch), chunks_(chunks), x_(x), kept_(const_cast<void*>(kept)), dy_(dy), dx_(dx) {}

    void run_chunk(Share pieces, const MlpBranchMemory& m, float* sums) {
        const Index rows = chunks_.rows_of(pieces);
        norm_chunk(b_, chunks_, pieces, x_, m.normed);
        const Rows gradient = branch_gradient(b_, chunks_, pieces, dy_, m.gradient);
        PackedView packed_normed, packed_gradient;
        timed(b_.profile, Part::pack, [&] {
            packed_normed =
                pack_into(upright_source(m.normed, rows, b_.dim), b_.format, m.packed_normed);
            packed_gradient =
                pack_into(upright_source(gradient, rows, b_.dim), b_.format, m.packed_gradient);
        });
        timed(b_.profile, Part::other,
              [&] { best_kernels().add_columns(gradient, rows, b_.dim, sums + at_.columns()); });
        for (Index begin = 0; begin < b_.hidden; begin += kHiddenSlice) {
            const Index width = std::min(kHiddenSlice, b_.hidden - begin);
            clear_padding(m.d_before, rows, width);
            through_gelu(pieces, rows, begin, width, gradient, m);
            timed(b_.profile, Part::other, [&] {
                best_kernels().add_columns(m.d_before, rows, width, sums + at_.bias1() + begin);
            });
            add_weight_product(b_, m.d_before, rows, width, packed_normed, m.transposed, m.scratch,
                               sums + at_.weight1() + begin * b_.dim);
            add_weight_product(b_, m.after, rows, width, packed_gradient, m.transposed, m.scratch,
                               sums + at_.products() + begin * b_.dim);
            to_input(rows, begin, width, m);
        }
        norm_chunk_backward(b_, chunks_, pieces, x_, m.d_normed, dy_, dx_, sums + at_.norm_weight(),
                            sums + at_.norm_bias());
    }

private:
    // d_before and, once more, GELU's values of a slice.
    void through_gelu(Share pieces, Index rows, Index begin, Index width, const Rows& gradient,
                      const MlpBranchMemory& m) {
        Epilogue gelu{.activation = Epilogue::Activation::gelu_backward};
        gelu.before = kept_hidden(b_, kept_, chunks_.piece(pieces.begin).kept, rows, begin, width);
        gelu.after = m.after;
        gelu.out = m.d_before;
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = rows,
                                .n = width,
                                .k = b_.dim,
                                .a = lhs_of(gradient),
                                .b = b_.weight2,
                                .column_begin = begin,
                                .epilogue = &gelu,
                                .scratch = m.scratch});
        });
    }

    void to_input(Index rows, Index begin, Index width, const MlpBranchMemory& m) {
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = rows,
                                .n = b_.dim,
                                .k = width,
                                .a = lhs_of(m.d_before),
                                .b = b_.weight1,
                                .k_begin = begin,
                                .c = m.d_normed,
                                .c_ld = b_.dim,
                                .accumulate = begin > 0,
                                .scratch = m.scratch});
        });
    }

    const MlpBackward& b_;
    const ProductKernels& products_ = products(b_.format);
    MlpBranchSums at_{b_.dim, b_.hidden};
    const Chunks& chunks_;
    const float* x_;
    void* kept_;  // only read
    const float* dy_;
    float* dx_;
};

}  // namespace

void mlp_branch_backward(const MlpBackward& b, const float* x, const void* kept, const float* dy,
                         const MlpGradients& gradients, Workspace& workspace) {
    const MlpBranchSums at{b.dim, b.hidden};
    const float* sums = sum_over_chunks(
        b, at.size(), false, workspace,
        [&](const Chunks& chunks, Arena& arena) { return MlpBranchMemory(b, chunks, arena); },
        [&](const Chunks& chunks, Share pieces, const MlpBranchMemory& memory, float* own) {
            MlpBranchBackward(b, chunks, x, kept, dy, gradients.x).run_chunk(pieces, memory, own);
        });
    copy_dropped(b, dy, gradients.x);
    timed(b.profile, Part::other, [&] {
        const auto total = [&](Index offset, Index count, float* to) {
            if (to != nullptr) std::copy_n(sums + offset, count, to);
        };
        total(at.weight1(), b.hidden * b.dim, gradients.weight1);
        total(at.bias1(), b.hidden, gradients.bias1);
        total(at.norm_weight(), b.dim, gradients.norm_weight);
        total(at.norm_bias(), b.dim, gradients.norm_bias);
        finish_output(b, b.hidden, b.weight2_values, b.bias2, sums + at.products(),
                      sums + at.columns(), gradients.output);
    });
}

}  // namespace cait::kernels
