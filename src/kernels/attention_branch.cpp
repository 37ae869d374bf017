#include "kernels/attention_branch.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

Index aligned(Index floats) { return (floats + 15) / 16 * 16; }

// A part of a kept tensor, as floats: in place, or through a buffer when it is kept as bfloat16.
const float* kept_rows(const void* kept, bool bfloat16, Index offset, Index count, float* buffer) {
    if (!bfloat16) return static_cast<const float*>(kept) + offset;
    best_kernels().from_bfloat16(static_cast<const std::uint16_t*>(kept) + offset, count, buffer);
    return buffer;
}

// Rounds new values where bfloat16 asks for it, and keeps them when that is wanted.
void keep_rows(void* kept, bool bfloat16, Index offset, Index count, float* values) {
    const KernelTable& table = best_kernels();
    if (bfloat16) table.scale(values, 1, count, values, true);
    if (kept == nullptr) return;
    if (bfloat16)
        table.to_bfloat16(values, count, static_cast<std::uint16_t*>(kept) + offset);
    else
        table.put_away(values, count, static_cast<float*>(kept) + offset);
}

// The weights of qkv and proj, packed for the one or the other direction.
struct PackedWeights {
    Buffer qkv, proj;

    static PackedWeights forward(const AttentionBranch& b, const Products& products) {
        PackSource qkv{.data = b.weight_qkv, .row_step = 1, .column_step = b.dim};
        PackSource proj{.data = b.weight_proj, .row_step = 1, .column_step = b.dim};
        qkv.rows = proj.rows = proj.columns = b.dim;
        qkv.columns = 3 * b.dim;
        return pack(b, products, qkv, proj);
    }
    static PackedWeights backward(const AttentionBranch& b, const Products& products) {
        PackSource qkv{.data = b.weight_qkv, .row_step = b.dim};
        PackSource proj{.data = b.weight_proj, .row_step = b.dim, .row_scale = b.gain};
        qkv.columns = proj.rows = proj.columns = b.dim;
        qkv.rows = 3 * b.dim;
        return pack(b, products, qkv, proj);
    }

private:
    static PackedWeights pack(const AttentionBranch& b, const Products& products, PackSource qkv,
                              PackSource proj) {
        PackedWeights weights{Buffer(products.packed_size(qkv.rows, qkv.columns)),
                              Buffer(products.packed_size(proj.rows, proj.columns))};
        qkv.bfloat16 = proj.bfloat16 = b.bfloat16;
        timed(b.profile, Part::pack, [&] {
            products.pack(qkv, weights.qkv.data());
            products.pack(proj, weights.proj.data());
        });
        return weights;
    }
};

class Forward {
public:
    Forward(const AttentionBranch& branch, const float* x, float* y, const AttentionKept& kept)
        : b_(branch), chunks_(branch), x_(x), y_(y), kept_(kept) {}

    void run() {
        const Index rows = chunks_.most_images() * b_.tokens;
        const Index scratch = aligned(attention_workspace(b_.attention));
        const Index size = scratch + aligned(6 * rows * b_.dim);
        const Buffer memory(size * chunks_.workers());
        chunks_.for_chunks([&](Index chunk, int worker) {
            float* workspace = memory.data() + worker * size;
            run_chunk(chunks_.images_of(chunk), workspace, workspace + scratch);
        });
        copy_dropped(b_, x_, y_);
    }

private:
    void run_chunk(Share images, float* workspace, float* memory) {
        const Index rows = (images.end - images.begin) * b_.tokens, dim = b_.dim;
        const Index offset = images.begin * b_.tokens * dim;
        float* normed = memory;
        float* branch = normed + rows * dim;
        float* mixed = branch + rows * dim;
        float* qkv = mixed + rows * dim;  // [rows, 3 * dim]

        norm_chunk(b_, chunks_, images, x_, normed);
        product(rows, 3 * dim, normed, weights_.qkv, b_.bias_qkv, qkv);
        timed(b_.profile, Part::attention, [&] {
            keep_rows(kept_.qkv, b_.bfloat16, 3 * offset, 3 * rows * dim, qkv);
            for (Index row = 0; row < rows; row += b_.tokens) {
                const float* q = qkv + row * 3 * dim;
                attention_forward(b_.attention, {q, 3 * dim}, {q + dim, 3 * dim},
                                  {q + 2 * dim, 3 * dim}, {mixed + row * dim, dim}, workspace);
            }
            keep_rows(kept_.mixed, b_.bfloat16, offset, rows * dim, mixed);
        });
        product(rows, dim, mixed, weights_.proj, b_.bias_proj, branch);
        add_branch(b_, chunks_, images, x_, branch, y_);
    }

    void product(Index rows, Index columns, const float* from, const Buffer& weights,
                 const float* bias, float* to) {
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = columns,
                            .k = b_.dim,
                            .a = from,
                            .a_row = b_.dim,
                            .packed = weights.data(),
                            .c = to,
                            .c_ld = columns,
                            .bias = bias});
        });
    }

    const AttentionBranch& b_;
    Products products_ = products(b_.bfloat16);
    Chunks chunks_;
    PackedWeights weights_ = PackedWeights::forward(b_, products_);
    const float* x_;
    float* y_;
    AttentionKept kept_;
};

// One group's sums, one after the other.
struct Sums {
    Index dim, heads;
    Index weight_qkv() const { return 0; }                     // [3 * dim, dim]
    Index products() const { return 3 * dim * dim; }           // [dim, dim]
    Index bias_qkv() const { return 4 * dim * dim; }           // [3 * dim]
    Index columns() const { return bias_qkv() + 3 * dim; }     // [dim]
    Index norm_weight() const { return columns() + dim; }      // [dim]
    Index norm_bias() const { return norm_weight() + dim; }    // [dim]
    Index before_weight() const { return norm_bias() + dim; }  // [heads, heads]
    Index after_weight() const { return before_weight() + heads * heads; }
    Index before_bias() const { return after_weight() + heads * heads; }  // [heads]
    Index after_bias() const { return before_bias() + heads; }
    Index size() const { return aligned(after_bias() + heads); }
};

class Backward {
public:
    Backward(const AttentionBranch& branch, const float* x, const AttentionKept& kept,
             const float* dy, float* dx)
        : b_(branch), x_(x), kept_(kept), dy_(dy), dx_(dx) {}

    void run(float* sums) {
        const Index most = chunks_.most_images() * b_.tokens;
        const Index scratch = aligned(attention_workspace(b_.attention));
        const Index size = scratch + aligned(11 * most * b_.dim) +
                           2 * aligned(products_.packed_size(most, b_.dim));
        const Buffer memory(size * chunks_.workers());
        chunks_.for_groups(
            [&](Index group, int) { std::fill_n(sums + group * at_.size(), at_.size(), 0.0F); },
            [&](Index group, Index chunk, int worker) {
                float* workspace = memory.data() + worker * size;
                run_chunk(chunks_.images_of(chunk), workspace, workspace + scratch,
                          sums + group * at_.size());
            });
        copy_dropped(b_, dy_, dx_);
    }

    Index groups() const { return chunks_.groups(); }

private:
    void run_chunk(Share images, float* workspace, float* memory, float* sums) {
        const Index most = chunks_.most_images() * b_.tokens, dim = b_.dim;
        const Index rows = (images.end - images.begin) * b_.tokens;
        float* normed = memory;
        float* d_normed = normed + most * dim;
        float* d_mixed = d_normed + most * dim;
        float* gradient_buffer = d_mixed + most * dim;
        float* mixed_buffer = gradient_buffer + most * dim;
        float* d_qkv = mixed_buffer + most * dim;    // [rows, 3 * dim]
        float* qkv_buffer = d_qkv + 3 * most * dim;  // [rows, 3 * dim]
        float* packed_normed = memory + aligned(11 * most * dim);
        float* packed_gradient = packed_normed + aligned(products_.packed_size(most, dim));
        const Index offset = images.begin * b_.tokens * dim;

        norm_chunk(b_, chunks_, images, x_, normed);
        const float* gradient = branch_gradient(b_, chunks_, images, dy_, gradient_buffer);
        timed(b_.profile, Part::pack, [&] {
            pack_rows(normed, rows, packed_normed);
            pack_rows(gradient, rows, packed_gradient);
        });
        timed(b_.profile, Part::other,
              [&] { best_kernels().add_columns(gradient, rows, dim, dim, sums + at_.columns()); });
        product(rows, dim, dim, gradient, weights_.proj, d_mixed);
        const float* mixed = kept_rows(kept_.mixed, b_.bfloat16, offset, rows * dim, mixed_buffer);
        add_weight_product(rows, dim, mixed, packed_gradient, sums + at_.products());

        timed(b_.profile, Part::attention, [&] {
            const float* qkv =
                kept_rows(kept_.qkv, b_.bfloat16, 3 * offset, 3 * rows * dim, qkv_buffer);
            attend(rows, qkv, d_mixed, d_qkv, workspace, sums);
        });
        timed(b_.profile, Part::other, [&] {
            best_kernels().add_columns(d_qkv, rows, 3 * dim, 3 * dim, sums + at_.bias_qkv());
        });
        add_weight_product(rows, 3 * dim, d_qkv, packed_normed, sums + at_.weight_qkv());
        product(rows, 3 * dim, dim, d_qkv, weights_.qkv, d_normed);
        norm_chunk_backward(b_, chunks_, images, x_, d_normed, dy_, dx_, sums + at_.norm_weight(),
                            sums + at_.norm_bias());
    }

    void attend(Index rows, const float* qkv, float* d_mixed, float* d_qkv, float* workspace,
                float* sums) {
        const Index dim = b_.dim, ld = 3 * dim;
        const MixGradients mixes{sums + at_.before_weight(), sums + at_.before_bias(),
                                 sums + at_.after_weight(), sums + at_.after_bias()};
        if (b_.bfloat16) best_kernels().scale(d_mixed, 1, rows * dim, d_mixed, true);
        for (Index row = 0; row < rows; row += b_.tokens) {
            const float* q = qkv + row * ld;
            float* dq = d_qkv + row * ld;
            attention_backward(b_.attention, {q, ld}, {q + dim, ld}, {q + 2 * dim, ld},
                               {d_mixed + row * dim, dim}, {dq, ld}, {dq + dim, ld},
                               {dq + 2 * dim, ld}, mixes, workspace);
        }
        if (b_.bfloat16) best_kernels().scale(d_qkv, 1, rows * ld, d_qkv, true);
    }

    void pack_rows(const float* from, Index rows, float* packed) {
        products_.pack({.data = from,
                        .rows = rows,
                        .columns = b_.dim,
                        .row_step = b_.dim,
                        .bfloat16 = b_.bfloat16},
                       packed);
    }

    // to [rows, columns] = from [rows, inner] · weights
    void product(Index rows, Index inner, Index columns, const float* from, const Buffer& weights,
                 float* to) {
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = columns,
                            .k = inner,
                            .a = from,
                            .a_row = inner,
                            .packed = weights.data(),
                            .c = to,
                            .c_ld = columns});
        });
    }

    // sums [columns, dim] += from [rows, columns]^T · packed [rows, dim]
    void add_weight_product(Index rows, Index columns, const float* from, const float* packed,
                            float* sums) {
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = columns,
                            .n = b_.dim,
                            .k = rows,
                            .a = from,
                            .a_row = 1,
                            .a_step = columns,
                            .packed = packed,
                            .c = sums,
                            .c_ld = b_.dim,
                            .accumulate = true});
        });
    }

    const AttentionBranch& b_;
    Products products_ = products(b_.bfloat16);
    Sums at_{b_.dim, b_.attention.heads};
    Chunks chunks_{b_, at_.size()};
    PackedWeights weights_ = PackedWeights::backward(b_, products_);
    const float* x_;
    AttentionKept kept_;
    const float* dy_;
    float* dx_;
};

}  // namespace

void attention_branch_forward(const AttentionBranch& branch, const float* x, float* y,
                              const AttentionKept& kept) {
    Forward(branch, x, y, kept).run();
}

void attention_branch_backward(const AttentionBranch& branch, const float* x,
                               const AttentionKept& kept, const float* dy,
                               const AttentionGradients& gradients) {
    const Index dim = branch.dim, heads = branch.attention.heads;
    const Sums at{dim, heads};
    Backward backward(branch, x, kept, dy, gradients.x);
    const Buffer sums(at.size() * backward.groups());
    backward.run(sums.data());
    timed(branch.profile, Part::other, [&] {
        // All sums at once: waking the threads for each of them would take longer than adding.
        sum_groups(sums.data(), at.size(), backward.groups(), at.size(), branch.threads);
        const auto total = [&](Index offset, Index count, float* to) {
            if (to != nullptr) std::copy_n(sums.data() + offset, count, to);
        };
        total(at.weight_qkv(), 3 * dim * dim, gradients.weight_qkv);
        total(at.bias_qkv(), 3 * dim, gradients.bias_qkv);
        total(at.norm_weight(), dim, gradients.norm_weight);
        total(at.norm_bias(), dim, gradients.norm_bias);
        total(at.before_weight(), heads * heads, gradients.mixes.before_weight);
        total(at.before_bias(), heads, gradients.mixes.before_bias);
        total(at.after_weight(), heads * heads, gradients.mixes.after_weight);
        total(at.after_bias(), heads, gradients.mixes.after_bias);
        finish_output(branch, dim, branch.weight_proj, branch.bias_proj,
                      sums.data() + at.products(), sums.data() + at.columns(), gradients.output);
    });
}

}  // namespace cait::kernels
