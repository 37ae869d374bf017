#include "kernels/row_attention.h"

#include "kernels/dispatch.h"
#include "kernels/seen_keys.h"

namespace cait::kernels {

void row_attention(const AttentionShape& s, Index head, const Rows& q, const Rows& k, const Rows& v,
                   const MutableRows& output, float* scores) {
    const Index column = head * s.head_dim;
    const auto part = [&](const Rows& rows) {
        return static_cast<const float*>(rows.from(0, column).data);
    };
    const SeenKeys seen(s.keys, s.key_mask, s.causal);
    best_kernels().dot_rows({.left = part(q),
                             .left_ld = q.ld,
                             .m = s.queries,
                             .rows = part(k),
                             .ld = k.ld,
                             .count = seen.used(),
                             .columns = s.head_dim,
                             .scale = s.scale,
                             .out = scores,
                             .out_ld = s.keys});
    for (Index i = 0; i < s.queries; ++i)
        seen.weigh(scores + i * s.keys, s.first_query + i, Format::f32);
    best_kernels().sum_rows({.left = scores,
                             .left_ld = s.keys,
                             .m = s.queries,
                             .rows = part(v),
                             .ld = v.ld,
                             .count = seen.used(),
                             .columns = s.head_dim,
                             .out = static_cast<float*>(output.from(0, column).data),
                             .out_ld = output.ld});
}

}  // namespace cait::kernels
