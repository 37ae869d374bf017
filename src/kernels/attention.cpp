#include "kernels/attention.h"

#include <algorithm>
#include <utility>

#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

constexpr Index kMapFloats = 1 << 17;  // of one set of maps, half a MiB

// Queries taken at a time, so that the maps of all heads fit.
Index block_rows(const AttentionShape& s) {
    const Index fitting = kMapFloats / std::max<Index>(1, s.heads * s.keys);
    return std::min(s.queries, std::max<Index>(8, fitting / 8 * 8));
}

// The scratch memory of one image, cut up.
class Scratch {
public:
    Scratch(const AttentionShape& s, float* memory)
        : map_(s.heads * block_rows(s) * s.keys), side_(side_size(s)), memory_(memory) {}

    static Index size(const AttentionShape& s) {
        return 4 * s.heads * block_rows(s) * s.keys + 3 * s.heads * side_size(s) + block_size(s);
    }

    float* map(int which) const { return memory_ + which * map_; }
    // A packed operand of one head that lives as long as the image: k or v, upright or transposed.
    float* side(int which, Index head, Index heads) const {
        return memory_ + 4 * map_ + (which * heads + head) * side_;
    }
    float* block(Index heads) const { return memory_ + 4 * map_ + 3 * heads * side_; }

private:
    static Index side_size(const AttentionShape& s) {
        const KernelTable& table = best_kernels();
        return std::max(table.packed_size(s.head_dim, s.keys),
                        table.packed_size(s.keys, s.head_dim));
    }
    static Index block_size(const AttentionShape& s) {
        return best_kernels().packed_size(block_rows(s), s.head_dim);
    }

    Index map_, side_;
    float* memory_;
};

class Attention {
public:
    Attention(const AttentionShape& shape, Rows q, Rows k, Rows v, float* workspace)
        : s_(shape), q_(q), k_(k), v_(v), scratch_(shape, workspace) {}

    void forward(MutableRows output) {
        for (Index h = 0; h < s_.heads; ++h) {
            pack_transposed(k_, h, s_.scale, 0);
            pack_upright(v_, h, 1, 1);
        }
        for (Index begin = 0; begin < s_.queries; begin += block_rows(s_)) {
            const Index rows = std::min(block_rows(s_), s_.queries - begin);
            const float* map = maps(begin, rows);
            for (Index h = 0; h < s_.heads; ++h)
                table_.gemm({.m = rows,
                             .n = s_.head_dim,
                             .k = s_.keys,
                             .a = map + h * rows * s_.keys,
                             .a_row = s_.keys,
                             .packed = scratch_.side(1, h, s_.heads),
                             .c = output.data + begin * output.ld + h * s_.head_dim,
                             .c_ld = output.ld});
        }
    }

    void backward(Rows d_output, MutableRows dq, MutableRows dk, MutableRows dv,
                  const MixGradients& mixes) {
        for (Index h = 0; h < s_.heads; ++h) {
            pack_transposed(k_, h, s_.scale, 0);
            pack_transposed(v_, h, 1, 1);
            pack_upright(k_, h, s_.scale, 2);
        }
        for (Index begin = 0; begin < s_.queries; begin += block_rows(s_)) {
            const Index rows = std::min(block_rows(s_), s_.queries - begin);
            const float* map = maps(begin, rows);
            for (Index h = 0; h < s_.heads; ++h) {
                add_transposed_product(map + h * rows * s_.keys, d_output, 1, begin, rows, h, dv);
                table_.gemm({.m = rows,
                             .n = s_.keys,
                             .k = s_.head_dim,
                             .a = d_output.data + begin * d_output.ld + h * s_.head_dim,
                             .a_row = d_output.ld,
                             .packed = scratch_.side(1, h, s_.heads),
                             .c = scratch_.map(3) + h * rows * s_.keys,
                             .c_ld = s_.keys});
            }
            const float* d_scores = maps_backward(rows, mixes);
            for (Index h = 0; h < s_.heads; ++h) {
                table_.gemm({.m = rows,
                             .n = s_.head_dim,
                             .k = s_.keys,
                             .a = d_scores + h * rows * s_.keys,
                             .a_row = s_.keys,
                             .packed = scratch_.side(2, h, s_.heads),
                             .c = dq.data + begin * dq.ld + h * s_.head_dim,
                             .c_ld = dq.ld});
                add_transposed_product(d_scores + h * rows * s_.keys, q_, s_.scale, begin, rows, h,
                                       dk);
            }
        }
    }

private:
    PackSource head_of(Rows rows, Index head, float scale) const {
        return {.data = rows.data + head * s_.head_dim,
                .rows = s_.keys,
                .columns = s_.head_dim,
                .row_step = rows.ld,
                .scale = scale,
                .bfloat16 = s_.bfloat16};
    }
    void pack_upright(Rows rows, Index head, float scale, int side) {
        table_.pack(head_of(rows, head, scale), scratch_.side(side, head, s_.heads));
    }
    void pack_transposed(Rows rows, Index head, float scale, int side) {
        PackSource source = head_of(rows, head, scale);
        std::swap(source.rows, source.columns);
        std::swap(source.row_step, source.column_step);
        table_.pack(source, scratch_.side(side, head, s_.heads));
    }

    // The maps that multiply v, [heads, rows, keys].
    const float* maps(Index begin, Index rows) {
        const Index size = rows * s_.keys;
        scores_ = scratch_.map(0);
        weights_ = s_.before_weight != nullptr ? scratch_.map(1) : scores_;
        float* mixed = s_.after_weight != nullptr || s_.bfloat16 ? scratch_.map(2) : weights_;
        for (Index h = 0; h < s_.heads; ++h)
            table_.gemm({.m = rows,
                         .n = s_.keys,
                         .k = s_.head_dim,
                         .a = q_.data + begin * q_.ld + h * s_.head_dim,
                         .a_row = q_.ld,
                         .packed = scratch_.side(0, h, s_.heads),
                         .c = scores_ + h * size,
                         .c_ld = s_.keys});
        for_stripes(rows, [&](Index at, Index stripe) {
            const Index count = stripe * s_.keys;
            if (s_.before_weight != nullptr)
                table_.mix_heads({s_.heads, count, size, s_.before_weight, s_.before_bias, false},
                                 scores_ + at, weights_ + at);
            for (Index h = 0; h < s_.heads; ++h)
                table_.softmax(weights_ + h * size + at, stripe, s_.keys);
            if (s_.after_weight != nullptr)
                table_.mix_heads({s_.heads, count, size, s_.after_weight, s_.after_bias, false},
                                 weights_ + at, mixed + at);
            if (s_.bfloat16)
                round_heads(s_.after_weight != nullptr ? mixed : weights_, mixed, at, count, size);
        });
        return mixed;
    }

    // The gradient of what maps() returned stands in map 3 → that of the scores.
    const float* maps_backward(Index rows, const MixGradients& mixes) {
        const Index size = rows * s_.keys;
        float* result = nullptr;
        for_stripes(rows, [&](Index at, Index stripe) {
            const Index count = stripe * s_.keys;
            float *gradient = scratch_.map(3), *other = scratch_.map(2);
            if (s_.after_weight != nullptr) {
                const MixArgs mix{s_.heads, count, size, s_.after_weight, nullptr, true};
                table_.mix_heads_backward(mix, weights_ + at, gradient + at, mixes.after_weight,
                                          mixes.after_bias);
                table_.mix_heads(mix, gradient + at, other + at);
                std::swap(gradient, other);
            }
            for (Index h = 0; h < s_.heads; ++h)
                table_.softmax_backward(weights_ + h * size + at, gradient + h * size + at, stripe,
                                        s_.keys);
            if (s_.before_weight != nullptr) {
                const MixArgs mix{s_.heads, count, size, s_.before_weight, nullptr, true};
                table_.mix_heads_backward(mix, scores_ + at, gradient + at, mixes.before_weight,
                                          mixes.before_bias);
                table_.mix_heads(mix, gradient + at, other + at);
                std::swap(gradient, other);
            }
            if (s_.bfloat16) round_heads(gradient, gradient, at, count, size);
            result = gradient;
        });
        return result;
    }

    // A few rows of all heads' maps at a time stay in the first-level cache from one step to the
    // next. Calls work(first element of a map, rows).
    template <class Work>
    void for_stripes(Index rows, const Work& work) {
        constexpr Index kStripeFloats = 2048;
        const Index stripe = std::max<Index>(1, kStripeFloats / (s_.heads * s_.keys));
        for (Index row = 0; row < rows; row += stripe)
            work(row * s_.keys, std::min(stripe, rows - row));
    }

    void round_heads(const float* from, float* to, Index at, Index count, Index size) {
        for (Index h = 0; h < s_.heads; ++h)
            table_.scale(from + h * size + at, 1, count, to + h * size + at, true);
    }

    // to [keys, head_dim] (+)= scale * map^T [keys, rows] · from [rows, head_dim], for one head.
    void add_transposed_product(const float* map, Rows from, float scale, Index begin, Index rows,
                                Index head, MutableRows to) {
        float* packed = scratch_.block(s_.heads);
        table_.pack({.data = from.data + begin * from.ld + head * s_.head_dim,
                     .rows = rows,
                     .columns = s_.head_dim,
                     .row_step = from.ld,
                     .scale = scale,
                     .bfloat16 = s_.bfloat16},
                    packed);
        table_.gemm({.m = s_.keys,
                     .n = s_.head_dim,
                     .k = rows,
                     .a = map,
                     .a_row = 1,
                     .a_step = s_.keys,
                     .packed = packed,
                     .c = to.data + head * s_.head_dim,
                     .c_ld = to.ld,
                     .accumulate = begin > 0});
    }

    const KernelTable& table_ = best_kernels();
    const AttentionShape& s_;
    Rows q_, k_, v_;
    Scratch scratch_;
    float* scores_ = nullptr;   // scaled
    float* weights_ = nullptr;  // after the softmax
};

}  // namespace

Index attention_workspace(const AttentionShape& shape) { return Scratch::size(shape); }

void attention_forward(const AttentionShape& shape, Rows q, Rows k, Rows v, MutableRows output,
                       float* workspace) {
    Attention(shape, q, k, v, workspace).forward(output);
}

void attention_backward(const AttentionShape& shape, Rows q, Rows k, Rows v, Rows d_output,
                        MutableRows dq, MutableRows dk, MutableRows dv, const MixGradients& mixes,
                        float* workspace) {
    Attention(shape, q, k, v, workspace).backward(d_output, dq, dk, dv, mixes);
}

}  // namespace cait::kernels
