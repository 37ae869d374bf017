#include "kernels/train/attention_backward.h"

#include <algorithm>
#include <utility>

#include "kernels/attention_maps.h"

namespace cait::kernels {

namespace {

class HeadsBackward {
public:
    HeadsBackward(const AttentionShape& s, Arena& arena)
        : s_(s),
          maps_(s, arena),
          d_map_(arena.floats(map_floats(s))),
          other_(arena.floats(map_floats(s))),
          value_bytes_(aligned(kernels_.packed_bytes(s.head_dim, s.keys))),
          key_bytes_(aligned(kernels_.packed_bytes(s.keys, s.head_dim))),
          values_(arena.take(s.heads * value_bytes_)),
          keys_(arena.take(s.heads * key_bytes_)),
          block_(arena.take(kernels_.packed_bytes(block_queries(s), s.head_dim))),
          staged_(arena.take(lhs_bytes(s.format, block_queries(s), std::max(s.keys, s.head_dim)))),
          transposed_(arena.take(transposed_bytes(s.format, block_queries(s), s.keys))),
          scratch_(arena.take(product_scratch(std::max({s.keys, s.head_dim, block_queries(s)})))) {}

    void run(const Rows& q, const Rows& k, const Rows& v, const Rows& d_output,
             const AttentionGradientRows& gradients, const MixGradients& mixes) {
        maps_.set_keys(k);
        for (Index h = 0; h < s_.heads; ++h) {
            kernels_.pack(transposed_source(head_of(v, s_, h), s_.keys, s_.head_dim),
                          values_ + h * value_bytes_);
            kernels_.pack(upright_source(head_of(k, s_, h), s_.keys, s_.head_dim, s_.scale),
                          keys_ + h * key_bytes_);
        }
        for (Index begin = 0; begin < s_.queries; begin += block_queries(s_)) {
            const Index rows = std::min(block_queries(s_), s_.queries - begin);
            maps_.compute(q, begin, rows);
            for (Index h = 0; h < s_.heads; ++h) {
                const Rows d_out = head_of(d_output.from(begin), s_, h);
                add_transposed(maps_.mixed(h), d_out, 1, rows, begin > 0, head(gradients.v, h));
                to_map(h, d_out, rows);
            }
            const float* d_scores = through_maps(rows, mixes);
            for (Index h = 0; h < s_.heads; ++h) {
                const float* d_score = d_scores + h * maps_.step();
                to_queries(h, d_score, rows, head(gradients.q, h).from(begin));
                add_transposed(d_score, head_of(q.from(begin), s_, h), s_.scale, rows, begin > 0,
                               head(gradients.k, h));
            }
        }
    }

private:
    MutableRows head(const MutableRows& rows, Index h) const {
        return rows.from(0, h * s_.head_dim);
    }
    PackedView packed(const std::byte* data, Index rows, Index columns) const {
        return {data, s_.format, kernels_.layout, rows, columns};
    }

    // The gradient of head h's map: d_output · v^T, padded columns included, which are zero.
    void to_map(Index h, const Rows& d_out, Index rows) {
        kernels_.multiply({.m = rows,
                           .n = maps_.ld(),
                           .k = s_.head_dim,
                           .a = staged(s_.format, d_out, rows, s_.head_dim, staged_),
                           .b = packed(values_ + h * value_bytes_, s_.head_dim, s_.keys),
                           .c = d_map_ + h * maps_.step(),
                           .c_ld = maps_.ld(),
                           .scratch = scratch_});
    }

    void to_queries(Index h, const float* d_score, Index rows, const MutableRows& dq) {
        kernels_.multiply(
            {.m = rows,
             .n = s_.head_dim,
             .k = s_.keys,
             .a = staged(s_.format, rows_of(d_score, maps_.ld()), rows, s_.keys, staged_),
             .b = packed(keys_ + h * key_bytes_, s_.keys, s_.head_dim),
             .c = static_cast<float*>(dq.data),
             .c_ld = dq.ld,
             .scratch = scratch_});
    }

    // to [keys, head_dim] (+)= scale * map^T [keys, rows] · from [rows, head_dim], for one head.
    void add_transposed(const float* map, const Rows& from, float scale, Index rows,
                        bool accumulate, const MutableRows& to) {
        kernels_.pack(upright_source(from, rows, s_.head_dim, scale), block_);
        kernels_.multiply({.m = s_.keys,
                           .n = s_.head_dim,
                           .k = rows,
                           .a = staged_transposed(s_.format, rows_of(map, maps_.ld()), rows,
                                                  s_.keys, transposed_),
                           .b = packed(block_, rows, s_.head_dim),
                           .c = static_cast<float*>(to.data),
                           .c_ld = to.ld,
                           .accumulate = accumulate,
                           .scratch = scratch_});
    }

    // The gradient of the maps that multiply v stands in d_map_ → that of the scores.
    const float* through_maps(Index rows, const MixGradients& mixes) {
        const Index step = maps_.step();
        float* result = d_map_;
        maps_.for_stripes(rows, [&](Index at, Index stripe) {
            const Index count = stripe * maps_.ld();
            float *gradient = d_map_, *other = other_;
            if (s_.after_weight != nullptr) {
                const MixArgs mix{s_.heads, count, step, s_.after_weight, nullptr, true};
                table_.train.mix_heads(mix, maps_.weights(0) + at, gradient + at,
                                       mixes.after_weight, mixes.after_bias);
                table_.mix_heads(mix, gradient + at, other + at);
                std::swap(gradient, other);
            }
            for (Index h = 0; h < s_.heads; ++h)
                table_.train.softmax(maps_.weights(h) + at, gradient + h * step + at, stripe,
                                     s_.keys, maps_.ld());
            if (s_.before_weight != nullptr) {
                const MixArgs mix{s_.heads, count, step, s_.before_weight, nullptr, true};
                table_.train.mix_heads(mix, maps_.scores(0) + at, gradient + at,
                                       mixes.before_weight, mixes.before_bias);
                table_.mix_heads(mix, gradient + at, other + at);
                std::swap(gradient, other);
            }
            result = gradient;
        });
        return result;
    }

    const AttentionShape& s_;
    const KernelTable& table_ = best_kernels();
    const ProductKernels& kernels_ = products(s_.format);
    AttentionMaps maps_;
    float *d_map_, *other_;
    Index value_bytes_, key_bytes_;
    std::byte *values_, *keys_, *block_, *staged_, *transposed_, *scratch_;
};

}  // namespace

Index attention_backward_workspace(const AttentionShape& shape) {
    Arena counted;
    HeadsBackward(shape, counted);
    return counted.used();
}

void attention_backward(const AttentionShape& shape, const Rows& q, const Rows& k, const Rows& v,
                        const Rows& d_output, const AttentionGradientRows& gradients,
                        const MixGradients& mixes, std::byte* workspace) {
    Arena arena(workspace);
    HeadsBackward(shape, arena).run(q, k, v, d_output, gradients, mixes);
}

}  // namespace cait::kernels
