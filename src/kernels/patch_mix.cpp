#include "kernels/patch_mix.h"

#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/windows.h"

namespace cait::kernels {

namespace {

constexpr Index kMixColumns = 96;  // that panels and tiles can be cut at

struct PatchMixMemory {
    std::byte *packed, *scratch;
};

// Columns [column, column + width) of one image.
void mix_columns(const PatchMix& p, Index image, Index column, Index width, const float* x,
                 float* y, const PatchMixMemory& m) {
    const float* from = x + image * p.inputs * p.dim + column;
    const Index at = image * p.outputs * p.dim + column;
    const Segment segment{p.residual == nullptr ? nullptr : p.residual + at, y + at, 1};
    Epilogue epilogue{.row_bias = p.bias, .out = rows_of(y + at, p.dim)};
    if (p.residual != nullptr) {
        epilogue.segments = &segment;
        epilogue.segment_rows = p.outputs;
        epilogue.segment_ld = p.dim;
        epilogue.gain = p.gain == nullptr ? nullptr : p.gain + column;
    }
    products(p.format).multiply(
        {.m = p.outputs,
         .n = width,
         .k = p.inputs,
         .a = p.weight,
         .b = pack_into(upright_source(rows_of(from, p.dim), p.inputs, width), p.format, m.packed),
         .epilogue = &epilogue,
         .scratch = m.scratch});
}

}  // namespace

void patch_mix_forward(const PatchMix& p, const float* x, float* y, Workspace& workspace) {
    // Images first, then steps of columns of one image.
    const RowBands bands(p.batch, ceil_div(p.dim, kMixColumns), ceil_div(p.dim, kMixColumns),
                         p.threads);
    const PerWorker memory(workspace.memory, bands.workers(), [&](Arena& arena) {
        return PatchMixMemory{arena.take(products(p.format).packed_bytes(p.inputs, p.dim)),
                              arena.take(product_scratch(p.inputs))};
    });
    bands.run([&](int worker, Index image, Index begin, Index end) {
        const Index column = begin * kMixColumns;
        mix_columns(p, image, column, std::min(end * kMixColumns, p.dim) - column, x, y,
                    memory(worker));
    });
}

}  // namespace cait::kernels
