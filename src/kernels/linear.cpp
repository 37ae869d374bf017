#include "kernels/linear.h"

#include <algorithm>

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"

namespace cait::kernels {

namespace {

constexpr Index kChunkRows = 256;
constexpr Index kColumnStep = 96;  // that a packed matrix can be cut at
constexpr Index kLeastRows = 16;   // worth a thread of their own

// The result in blocks: of rows first, of columns where rows are too few for all threads.
struct Grid {
    Index rows, columns;  // of a block
    Index down, across;   // blocks

    explicit Grid(const LinearShape& s) {
        const Index threads = std::max(1, s.threads);
        rows = std::max(kLeastRows, std::min(kChunkRows, (s.rows + threads - 1) / threads));
        down = (s.rows + rows - 1) / rows;
        const Index parts = std::max<Index>(1, threads / std::max<Index>(1, down));
        columns = round_up((s.outputs + parts - 1) / parts, kColumnStep);
        across = (s.outputs + columns - 1) / columns;
    }
};

// Element (i, k) of a at data[i * row_step + k * k_step] as a left-hand side.
Lhs staged_floats(Format format, const float* data, Index row_step, Index k_step, Index m, Index k,
                  void* memory) {
    if (row_of(format).in_place) return {data, format, row_step, k_step};
    return k_step == 1 ? staged(format, rows_of(data, row_step), m, k, memory)
                       : staged_transposed(format, rows_of(data, k_step), k, m, memory);
}

}  // namespace

void linear_forward(const LinearShape& s, const float* x, const PackedView& weight,
                    const float* bias, float* y, Workspace& workspace) {
    const Grid grid(s);
    const Index ld = s.ld == 0 ? s.inputs : s.ld;
    const Index blocks = grid.down * grid.across;
    const int workers = int(std::max<Index>(1, std::min<Index>(blocks, s.threads)));
    struct Memory {
        std::byte *a, *scratch;
    };
    const PerWorker memory(workspace.memory, workers, [&](Arena& arena) {
        return Memory{arena.take(lhs_bytes(s.format, grid.rows, s.inputs)),
                      arena.take(product_scratch(s.inputs))};
    });
    run_workers(workers, [&](int worker) {
        const Share share = share_of(blocks, worker, workers);
        const Memory m = memory(worker);
        timed(s.profile, Part::gemm, [&] {
            for (Index block = share.begin; block < share.end; ++block) {
                const Index row = block / grid.across * grid.rows;
                const Index column = block % grid.across * grid.columns;
                const Index rows = std::min(grid.rows, s.rows - row);
                const Epilogue plain{.bias = bias == nullptr ? nullptr : bias + column,
                                     .activation = s.activation,
                                     .out = rows_of(y + row * s.outputs + column, s.outputs)};
                products(s.format).multiply(
                    {.m = rows,
                     .n = std::min(grid.columns, s.outputs - column),
                     .k = s.inputs,
                     .a = staged(s.format, rows_of(x + row * ld, ld), rows, s.inputs, m.a),
                     .b = weight,
                     .column_begin = column,
                     .epilogue = &plain,
                     .scratch = m.scratch});
            }
        });
    });
}

void batched_product(const BatchedShape& s, const float* a, const float* b, float* c,
                     Workspace& workspace) {
    const int workers = int(std::max<Index>(1, std::min<Index>(s.count, s.threads)));
    struct Memory {
        std::byte *packed, *a, *scratch;
    };
    const PerWorker memory(workspace.memory, workers, [&](Arena& arena) {
        return Memory{arena.take(products(s.format).packed_bytes(s.k, s.n)),
                      arena.take(lhs_bytes(s.format, s.m, s.k)), arena.take(product_scratch(s.k))};
    });
    run_workers(workers, [&](int worker) {
        const Share share = share_of(s.count, worker, workers);
        const Memory m = memory(worker);
        timed(s.profile, Part::gemm, [&] {
            for (Index p = share.begin; p < share.end; ++p) {
                const PackedView packed = pack_into({.data = b + p * s.b_batch,
                                                     .rows = s.k,
                                                     .columns = s.n,
                                                     .row_step = s.b_row,
                                                     .column_step = s.b_step},
                                                    s.format, m.packed);
                products(s.format).multiply({.m = s.m,
                                             .n = s.n,
                                             .k = s.k,
                                             .a = staged_floats(s.format, a + p * s.a_batch,
                                                                s.a_row, s.a_step, s.m, s.k, m.a),
                                             .b = packed,
                                             .c = c + p * s.m * s.n,
                                             .c_ld = s.n,
                                             .scratch = m.scratch});
            }
        });
    });
}

}  // namespace cait::kernels
