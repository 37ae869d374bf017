#include "kernels/attention.h"

#include <algorithm>

#include "kernels/attention_maps.h"

namespace cait::kernels {

namespace {

class Attention {
public:
    Attention(const AttentionShape& shape, Arena& arena)
        : s_(shape),
          maps_(shape, arena),
          value_bytes_(aligned(kernels_.packed_bytes(shape.keys, shape.head_dim))),
          values_(arena.take(shape.heads * value_bytes_)),
          map_(arena.take(lhs_bytes(shape.format, block_queries(shape), shape.keys))),
          scratch_(arena.take(product_scratch(std::max(shape.keys, shape.head_dim)))) {}

    void run(const Rows& q, const Rows& k, const Rows& v, const MutableRows& output) {
        maps_.set_keys(k);
        set_values(v);
        for_blocks([&](Index begin, Index rows) {
            maps_.compute(q, begin, rows);
            for (Index h = 0; h < s_.heads; ++h)
                apply(h, rows_of(maps_.mixed(h), maps_.ld()), rows,
                      output.from(begin, h * s_.head_dim));
        });
    }

    void write_map(const Rows& q, const Rows& k, float* map, Index map_step) {
        maps_.set_keys(k);
        for_blocks([&](Index begin, Index rows) {
            maps_.compute(q, begin, rows);
            for (Index h = 0; h < s_.heads; ++h)
                for (Index r = 0; r < rows; ++r)
                    std::copy_n(maps_.mixed(h) + r * maps_.ld(), s_.keys,
                                map + h * map_step + (begin + r) * s_.keys);
        });
    }

    void apply_map(const float* map, Index map_step, const Rows& v, const MutableRows& output) {
        set_values(v);
        for_blocks([&](Index begin, Index rows) {
            for (Index h = 0; h < s_.heads; ++h)
                apply(h, rows_of(map + h * map_step + begin * s_.keys, s_.keys), rows,
                      output.from(begin, h * s_.head_dim));
        });
    }

private:
    // Calls work(first query, queries).
    template <class Work>
    void for_blocks(const Work& work) const {
        for (Index begin = 0; begin < s_.queries; begin += block_queries(s_))
            work(begin, std::min(block_queries(s_), s_.queries - begin));
    }

    void set_values(const Rows& v) {
        for (Index h = 0; h < s_.heads; ++h)
            kernels_.pack(upright_source(head_of(v, s_, h), s_.keys, s_.head_dim),
                          values_ + h * value_bytes_);
    }

    void apply(Index head, const Rows& map, Index rows, const MutableRows& output) {
        const Epilogue plain{.out = output};
        kernels_.multiply(
            {.m = rows,
             .n = s_.head_dim,
             .k = s_.keys,
             .a = staged(s_.format, map, rows, s_.keys, map_),
             .b = {values_ + head * value_bytes_, s_.format, kernels_.layout, s_.keys, s_.head_dim},
             .epilogue = &plain,
             .scratch = scratch_});
    }

    const AttentionShape& s_;
    const ProductKernels& kernels_ = products(s_.format);
    AttentionMaps maps_;
    Index value_bytes_;
    std::byte *values_, *map_, *scratch_;
};

}  // namespace

Index attention_workspace(const AttentionShape& shape) {
    Arena counted;
    Attention(shape, counted);
    return counted.used();
}

void attention_forward(const AttentionShape& shape, const Rows& q, const Rows& k, const Rows& v,
                       const MutableRows& output, std::byte* workspace) {
    Arena arena(workspace);
    Attention(shape, arena).run(q, k, v, output);
}

void attention_map_forward(const AttentionShape& shape, const Rows& q, const Rows& k, float* map,
                           Index map_step, std::byte* workspace) {
    Arena arena(workspace);
    Attention(shape, arena).write_map(q, k, map, map_step);
}

void attention_apply_forward(const AttentionShape& shape, const float* map, Index map_step,
                             const Rows& v, const MutableRows& output, std::byte* workspace) {
    Arena arena(workspace);
    Attention(shape, arena).apply_map(map, map_step, v, output);
}

}  // namespace cait::kernels
