#include "kernels/train/linear_backward.h"

#include <algorithm>

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"

namespace cait::kernels {

namespace {

constexpr Index kChunkRows = 256;

struct LinearMemory {
    float* sums;  // of the weight's gradient and, behind it, of the bias's
    std::byte *packed, *transposed, *scratch;
};

// A worker's rows.
void add_rows(const LinearShape& s, Share rows_of_worker, const float* x, const float* dy,
              const LinearMemory& m) {
    for (Index row = rows_of_worker.begin; row < rows_of_worker.end; row += kChunkRows) {
        const Index rows = std::min(kChunkRows, rows_of_worker.end - row);
        const Rows gradient = rows_of(dy + row * s.outputs, s.outputs);
        PackedView packed;
        Lhs a;
        timed(s.profile, Part::pack, [&] {
            packed =
                pack_into(upright_source(rows_of(x + row * s.inputs, s.inputs), rows, s.inputs),
                          s.format, m.packed);
            a = staged_transposed(s.format, gradient, rows, s.outputs, m.transposed);
        });
        timed(s.profile, Part::gemm, [&] {
            products(s.format).multiply({.m = s.outputs,
                                         .n = s.inputs,
                                         .k = rows,
                                         .a = a,
                                         .b = packed,
                                         .c = m.sums,
                                         .c_ld = s.inputs,
                                         .accumulate = true,
                                         .scratch = m.scratch});
        });
        best_kernels().add_columns(gradient, rows, s.outputs, m.sums + s.outputs * s.inputs);
    }
}

}  // namespace

void linear_weight_gradient(const LinearShape& s, const float* x, const float* dy, float* d_weight,
                            float* d_bias, Workspace& workspace) {
    const int workers =
        int(std::max<Index>(1, std::min<Index>((s.rows + 31) / 32, std::max(1, s.threads))));
    const Index weights = s.outputs * s.inputs, size = weights + s.outputs;
    const PerWorker memory(workspace.memory, workers, [&](Arena& arena) {
        return LinearMemory{arena.floats(size),
                            arena.take(products(s.format).packed_bytes(kChunkRows, s.inputs)),
                            arena.take(transposed_bytes(s.format, kChunkRows, s.outputs)),
                            arena.take(product_scratch(kChunkRows))};
    });
    run_workers(workers, [&](int worker) {
        std::fill_n(memory(worker).sums, size, 0.0F);
        add_rows(s, share_of(s.rows, worker, workers), x, dy, memory(worker));
    });
    float* sums = memory(0).sums;
    run_workers(workers, [&](int worker) {
        const Share share = share_of(size, worker, workers);
        for (int other = 1; other < workers; ++other)
            best_kernels().add(memory(other).sums + share.begin, share.end - share.begin,
                               sums + share.begin);
    });
    if (d_weight != nullptr) std::copy_n(sums, weights, d_weight);
    if (d_bias != nullptr) std::copy_n(sums + weights, s.outputs, d_bias);
}

}  // namespace cait::kernels
