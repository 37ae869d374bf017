// Matrix products of packed right-hand sides. A tile of kRows × 3 registers of the result stays in
// registers; a packed panel of at most kDepth rows stays in the first-level cache meanwhile.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kRows = kWidth == 16 ? 8 : 4;
constexpr Index kVectors = 3;
constexpr Index kColumns = kVectors * kWidth;
constexpr Index kDepth = 192;

Index round_up(Index x, Index step) { return (x + step - 1) / step * step; }

// K is cut into equal blocks of at most kDepth.
Index block_depth(Index k) {
    const Index blocks = (k + kDepth - 1) / kDepth;
    return blocks <= 1 ? k : round_up((k + blocks - 1) / blocks, 8);
}

struct Tile {
    Index k;
    const float* a;
    Index a_step;  // of the two, the one that is not 1
    const float* b;
    float* c;
    Index c_ld;
    Index columns;  // that exist in c
    bool accumulate;
    const float* bias;
};

template <int Rows, int Vectors, bool Transposed>
void multiply_tile(const Tile& tile) {
    Vec sums[Rows][Vectors];
    const bool whole = tile.columns == Vectors * kWidth;
    const auto width = [&](int v) {
        const Index left = tile.columns - v * kWidth;
        return left < kWidth ? left : Index(kWidth);
    };
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) {
            if (!tile.accumulate && tile.bias == nullptr) {
                sums[r][v] = set(0.0F);
                continue;
            }
            const float* start =
                (tile.accumulate ? tile.c + r * tile.c_ld : tile.bias) + v * kWidth;
            sums[r][v] = whole ? load(start) : load_part(start, width(v));
        }
    const float* a = tile.a;
    const float* b = tile.b;
    const Index step = tile.a_step;
    for (Index k = 0; k < tile.k; ++k) {
        Vec row[Vectors];
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kWidth);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const Vec x = set(Transposed ? a[r] : a[r * step]);
#pragma GCC unroll 3
            for (int v = 0; v < Vectors; ++v) sums[r][v] += x * row[v];
        }
        a += Transposed ? step : 1;
        b += kColumns;
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) {
            float* to = tile.c + r * tile.c_ld + v * kWidth;
            if (whole)
                store(to, sums[r][v]);
            else
                store_part(to, sums[r][v], width(v));
        }
}

using TileFunction = void (*)(const Tile&);

template <int Rows, bool Transposed>
TileFunction choose_vectors(Index vectors) {
    if (vectors == 1) return multiply_tile<Rows, 1, Transposed>;
    if (vectors == 2) return multiply_tile<Rows, 2, Transposed>;
    return multiply_tile<Rows, 3, Transposed>;
}

template <bool Transposed>
TileFunction choose_tile(Index rows, Index vectors) {
    switch (rows) {
        case 1: return choose_vectors<1, Transposed>(vectors);
        case 2: return choose_vectors<2, Transposed>(vectors);
        case 3: return choose_vectors<3, Transposed>(vectors);
        case 4: return choose_vectors<4, Transposed>(vectors);
        case 5: return choose_vectors<5, Transposed>(vectors);
        case 6: return choose_vectors<6, Transposed>(vectors);
        case 7: return choose_vectors<7, Transposed>(vectors);
        default: return choose_vectors<kRows, Transposed>(vectors);
    }
}

// One block of K for one panel of columns: down the rows of c.
void multiply_panel(const GemmArgs& args, Index k0, Index depth, Index column, const float* panel) {
    const bool transposed = args.a_row == 1 && args.a_step != 1;
    const Index columns = args.n - column < kColumns ? args.n - column : kColumns;
    const Index vectors = (columns + kWidth - 1) / kWidth;
    const auto choose = [&](Index rows) {
        return transposed ? choose_tile<true>(rows, vectors) : choose_tile<false>(rows, vectors);
    };
    Tile tile{
        depth,   args.a + k0 * args.a_step, transposed ? args.a_step : args.a_row,
        panel,   args.c + column,           args.c_ld,
        columns, args.accumulate || k0 > 0, args.bias == nullptr ? nullptr : args.bias + column};
    const TileFunction whole = choose(kRows);
    Index row = 0;
    for (; row + kRows <= args.m; row += kRows) {
        whole(tile);
        tile.a += kRows * args.a_row;
        tile.c += kRows * args.c_ld;
    }
    if (row < args.m) choose(args.m - row)(tile);
}

// One row of a panel, columns apart by `step`; what is missing becomes zero.
void pack_row(const float* from, Index step, Index columns, float scale, bool bfloat16, float* to) {
    float padded[kColumns] = {};
    if (columns < kColumns) {
        for (Index c = 0; c < columns; ++c) padded[c] = from[c * step];
        from = padded;
        step = 1;
    }
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
        const Vec x = step == 1 ? load(from + v * kWidth) : gather(from + v * kWidth * step, step);
        const Vec scaled = x * set(scale);
        store(to + v * kWidth, bfloat16 ? round_to_bfloat16(scaled) : scaled);
    }
}

}  // namespace

Index packed_size(Index rows, Index columns) { return rows * round_up(columns, kColumns); }

void pack(const PackSource& source, float* packed) {
    const Index depth = block_depth(source.rows);
    for (Index k0 = 0; k0 < source.rows; k0 += depth) {
        const Index end = k0 + depth < source.rows ? k0 + depth : source.rows;
        for (Index column = 0; column < source.columns; column += kColumns) {
            const Index left = source.columns - column;
            const float* from = source.data + column * source.column_step;
            for (Index k = k0; k < end; ++k) {
                const float row_scale = source.row_scale == nullptr ? 1.0F : source.row_scale[k];
                pack_row(from + k * source.row_step, source.column_step,
                         left < kColumns ? left : kColumns, source.scale * row_scale,
                         source.bfloat16, packed);
                packed += kColumns;
            }
        }
    }
}

void gemm(const GemmArgs& args) {
    const Index depth = block_depth(args.k);
    const float* panel = args.packed;
    for (Index k0 = 0; k0 < args.k; k0 += depth) {
        const Index here = args.k - k0 < depth ? args.k - k0 : depth;
        for (Index column = 0; column < args.n; column += kColumns) {
            multiply_panel(args, k0, here, column, panel);
            panel += here * kColumns;
        }
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
