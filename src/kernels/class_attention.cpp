#include "kernels/class_attention.h"

#include <algorithm>

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"

namespace cait::kernels {

namespace {

// What one worker needs for an image.
struct ClassAttentionMemory {
    float *questions, *weights, *sums;  // [heads * queries] rows of dim, of keys, of dim
    std::byte *lhs, *packed, *scratch;

    ClassAttentionMemory(const ClassAttention& c, Arena& arena) {
        const Index rows = c.heads * c.queries, dim = c.dim();
        const ProductKernels& kernels = products(c.format);
        questions = arena.floats(rows * dim);
        weights = arena.floats(rows * c.keys);
        sums = arena.floats(rows * dim);
        lhs = arena.take(lhs_bytes(c.format, rows, std::max({dim, c.keys, c.head_dim})));
        packed = arena.take(
            std::max(kernels.packed_bytes(dim, c.keys), kernels.packed_bytes(c.keys, dim)));
        scratch = arena.take(product_scratch(std::max(dim, c.keys)));
    }
};

class OneImage {
public:
    OneImage(const ClassAttention& c, const ClassAttentionMemory& m) : c_(c), m_(m) {}

    void run(const Rows& q, const Rows& tokens, float* y) const {
        const Index rows = c_.heads * c_.queries, dim = c_.dim();
        for (Index h = 0; h < c_.heads; ++h)
            multiply(q.from(0, h * c_.head_dim), c_.queries, c_.head_dim,
                     c_.key_weights[std::size_t(h)], nullptr, question(h), dim);
        multiply(rows_of(m_.questions, dim), rows, dim,
                 pack_into(transposed_source(tokens, c_.keys, dim, c_.scale), c_.format, m_.packed),
                 nullptr, m_.weights, c_.keys);
        best_kernels().softmax(m_.weights, rows, c_.keys, c_.keys, c_.format);
        multiply(rows_of(m_.weights, c_.keys), rows, c_.keys,
                 pack_into(upright_source(tokens, c_.keys, dim), c_.format, m_.packed), nullptr,
                 m_.sums, dim);
        for (Index h = 0; h < c_.heads; ++h) {
            const Index column = h * c_.head_dim;
            multiply(rows_of(m_.sums + h * c_.queries * dim, dim), c_.queries, dim,
                     c_.value_weights[std::size_t(h)],
                     c_.value_bias == nullptr ? nullptr : c_.value_bias + column, y + column, dim);
        }
    }

private:
    float* question(Index head) const { return m_.questions + head * c_.queries * c_.dim(); }

    // to [m, columns of b] = from [m, k] · b + bias
    void multiply(const Rows& from, Index m, Index k, const PackedView& b, const float* bias,
                  float* to, Index ld) const {
        const Epilogue plain{.bias = bias, .out = rows_of(to, ld)};
        products(c_.format).multiply({.m = m,
                                      .n = b.columns,
                                      .k = k,
                                      .a = staged(c_.format, from, m, k, m_.lhs),
                                      .b = b,
                                      .epilogue = &plain,
                                      .scratch = m_.scratch});
    }

    const ClassAttention& c_;
    const ClassAttentionMemory& m_;
};

}  // namespace

void class_attention_forward(const ClassAttention& c, const ImageRows& q, const ImageRows& tokens,
                             float* y, Workspace& workspace) {
    const int workers = int(std::max<Index>(1, std::min<Index>(c.batch, c.threads)));
    const PerWorker memory(workspace.memory, workers,
                           [&](Arena& arena) { return ClassAttentionMemory(c, arena); });
    run_workers(workers, [&](int worker) {
        const ClassAttentionMemory own = memory(worker);
        const Share images = share_of(c.batch, worker, workers);
        for (Index i = images.begin; i < images.end; ++i)
            OneImage(c, own).run(q.of(i), tokens.of(i), y + i * c.queries * c.dim());
    });
}

}  // namespace cait::kernels
