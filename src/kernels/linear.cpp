#include "kernels/linear.h"

#include <algorithm>

#include "kernels/buffer.h"
#include "kernels/dispatch.h"
#include "kernels/parallel.h"

namespace cait::kernels {

namespace {

constexpr Index kChunkRows = 256;

int workers_for(Index items, int threads) {
    return int(std::max<Index>(1, std::min<Index>(items, threads)));
}

// Rounds `count` floats into the buffer where bfloat16 asks for it.
const float* rounded(const float* x, Index count, bool bfloat16, float* buffer) {
    if (!bfloat16) return x;
    best_kernels().scale(x, 1, count, buffer, true);
    return buffer;
}

// to [rows, columns] = from [rows, inner] · packed + bias, by all threads.
void product_of_rows(const LinearShape& s, Index inner, Index columns, const float* from,
                     const PackSource& weights, const float* bias, float* to) {
    const Products product = products(s.bfloat16);
    const Buffer packed(product.packed_size(weights.rows, weights.columns));
    timed(s.profile, Part::pack, [&] { product.pack(weights, packed.data()); });
    const int workers = workers_for((s.rows + 7) / 8, s.threads);
    const Index step = std::max<Index>(1, std::min(kChunkRows, (s.rows + workers - 1) / workers));
    const Buffer memory(s.bfloat16 ? workers * kChunkRows * inner : 1);
    run_workers(workers, [&](int worker) {
        const Share share = share_of((s.rows + step - 1) / step, worker, workers);
        for (Index chunk = share.begin; chunk < share.end; ++chunk) {
            const Index row = chunk * step, rows = std::min(step, s.rows - row);
            timed(s.profile, Part::gemm, [&] {
                product.gemm({.m = rows,
                              .n = columns,
                              .k = inner,
                              .a = rounded(from + row * inner, rows * inner, s.bfloat16,
                                           memory.data() + worker * kChunkRows * inner),
                              .a_row = inner,
                              .packed = packed.data(),
                              .c = to + row * columns,
                              .c_ld = columns,
                              .bias = bias});
            });
        }
    });
}

// Sums of the weight's gradient and, behind it, of the bias's, for a worker's rows.
void weight_sums(const LinearShape& s, Share rows_of, const float* x, const float* dy,
                 const Products& product, float* memory, float* sums) {
    float* packed = memory;
    float* buffer = packed + product.packed_size(kChunkRows, s.inputs);
    for (Index row = rows_of.begin; row < rows_of.end; row += kChunkRows) {
        const Index rows = std::min(kChunkRows, rows_of.end - row);
        timed(s.profile, Part::pack, [&] {
            product.pack({.data = x + row * s.inputs,
                          .rows = rows,
                          .columns = s.inputs,
                          .row_step = s.inputs,
                          .bfloat16 = s.bfloat16},
                         packed);
        });
        timed(s.profile, Part::gemm, [&] {
            product.gemm({.m = s.outputs,
                          .n = s.inputs,
                          .k = rows,
                          .a = rounded(dy + row * s.outputs, rows * s.outputs, s.bfloat16, buffer),
                          .a_row = 1,
                          .a_step = s.outputs,
                          .packed = packed,
                          .c = sums,
                          .c_ld = s.inputs,
                          .accumulate = row > rows_of.begin});
        });
        best_kernels().add_columns(dy + row * s.outputs, rows, s.outputs, s.outputs,
                                   sums + s.outputs * s.inputs);
    }
}

void weight_gradient(const LinearShape& s, const float* x, const float* dy, float* d_weight,
                     float* d_bias) {
    const Products product = products(s.bfloat16);
    const int workers = workers_for((s.rows + 31) / 32, s.threads);
    const Index weights = s.outputs * s.inputs, size = (weights + s.outputs + 15) / 16 * 16;
    const Index scratch = product.packed_size(kChunkRows, s.inputs) + kChunkRows * s.outputs;
    const Buffer sums(workers * size), memory(workers * scratch);
    run_workers(workers, [&](int worker) {
        float* own = sums.data() + worker * size;
        std::fill_n(own, weights + s.outputs, 0.0F);
        weight_sums(s, share_of(s.rows, worker, workers), x, dy, product,
                    memory.data() + worker * scratch, own);
    });
    run_workers(workers, [&](int worker) {
        const Share share = share_of(weights + s.outputs, worker, workers);
        for (int other = 1; other < workers; ++other)
            best_kernels().add(sums.data() + other * size + share.begin, share.end - share.begin,
                               sums.data() + share.begin);
    });
    if (d_weight != nullptr) std::copy_n(sums.data(), weights, d_weight);
    if (d_bias != nullptr) std::copy_n(sums.data() + weights, s.outputs, d_bias);
}

}  // namespace

void linear_forward(const LinearShape& s, const float* x, const float* weight, const float* bias,
                    float* y) {
    product_of_rows(s, s.inputs, s.outputs, x,
                    {.data = weight,
                     .rows = s.inputs,
                     .columns = s.outputs,
                     .row_step = 1,
                     .column_step = s.inputs,
                     .bfloat16 = s.bfloat16},
                    bias, y);
}

void linear_backward(const LinearShape& s, const float* x, const float* weight, const float* dy,
                     float* dx, float* d_weight, float* d_bias) {
    if (dx != nullptr)
        product_of_rows(s, s.outputs, s.inputs, dy,
                        {.data = weight,
                         .rows = s.outputs,
                         .columns = s.inputs,
                         .row_step = s.inputs,
                         .bfloat16 = s.bfloat16},
                        nullptr, dx);
    if (d_weight != nullptr || d_bias != nullptr) weight_gradient(s, x, dy, d_weight, d_bias);
}

void batched_product(const ProductShape& s, const float* a, const float* b, float* c) {
    const Products product = products(s.bfloat16);
    const int workers = workers_for(s.count, s.threads);
    const Index needed = product.packed_size(s.k, s.n) + (s.bfloat16 ? s.m * s.k : 0);
    const Index size = (needed + 15) / 16 * 16;
    const Buffer memory(workers * size);
    run_workers(workers, [&](int worker) {
        float* packed = memory.data() + worker * size;
        float* buffer = packed + product.packed_size(s.k, s.n);
        const Share share = share_of(s.count, worker, workers);
        timed(s.profile, Part::gemm, [&] {
            for (Index p = share.begin; p < share.end; ++p) {
                product.pack({.data = b + p * s.b_batch,
                              .rows = s.k,
                              .columns = s.n,
                              .row_step = s.b_row,
                              .column_step = s.b_step,
                              .bfloat16 = s.bfloat16},
                             packed);
                GemmArgs args{.m = s.m, .n = s.n, .k = s.k};
                args.a = a + p * s.a_batch;
                args.a_row = s.a_row;
                args.a_step = s.a_step;
                args.packed = packed;
                args.c = c + p * s.m * s.n;
                args.c_ld = s.n;
                if (s.bfloat16) {
                    // Densely, in the order of memory: rows of a, or of its transpose.
                    const bool transposed = s.a_row == 1 && s.a_step != 1;
                    const Index rows = transposed ? s.k : s.m, columns = transposed ? s.m : s.k;
                    const Index ld = transposed ? s.a_step : s.a_row;
                    for (Index r = 0; r < rows; ++r)
                        best_kernels().scale(args.a + r * ld, 1, columns, buffer + r * columns,
                                             true);
                    args.a = buffer;
                    (transposed ? args.a_step : args.a_row) = columns;
                }
                product.gemm(args);
            }
        });
    });
}

}  // namespace cait::kernels
