// Products of float32 panels: a tile of kRows × 3 registers of the result stays in registers, a
// panel of at most kDepth rows in the first-level cache. bfloat16 without instructions of its own
// goes the same way: its values are rounded when they are packed or widened, and multiplied as
// floats.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/pairs.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kRows = kWidth == 16 ? 8 : 4;
constexpr Index kVectors = 3;
constexpr Index kColumns = kVectors * kWidth;
constexpr Index kDepth = kWidth == 16 ? 192 : 256;
// A block of sums for a right-hand side that lies far: more rows, so that it is read more seldom,
// and fewer columns, so that the block still lies in the first-level cache.
constexpr Index kFarRows = 128, kFarColumns = 48;
static_assert(kFarRows * kFarColumns <= kBlockRows * kBlockColumns);

// K is cut into equal blocks of at most kDepth.
Index block_depth(Index k) {
    const Index blocks = (k + kDepth - 1) / kDepth;
    return blocks <= 1 ? k : round_up((k + blocks - 1) / blocks, 8);
}

struct Tile {
    Index k;
    const float* a;
    Index a_step;  // from row to row, or transposed from one step of k to the next
    const float* b;
    float* c;
    Index c_ld;
    Index columns;  // that exist in c
    bool accumulate;
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
            if (!tile.accumulate) {
                sums[r][v] = set(0.0F);
                continue;
            }
            const float* start = tile.c + r * tile.c_ld + v * kWidth;
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

// Some rows and columns of the result, whose left-hand side lies in floats at `a`: upright, rows
// `a_step` apart, or transposed, steps of k `a_step` apart and tiles of kRows rows `a_tile` apart.
struct Block {
    Index rows, columns;
    const float* a;
    Index a_step, a_tile;
    bool transposed;
    float* c;
    Index c_ld;
};

// Not in the second-level cache.
bool lies_far(const PackedView& b) { return b.rows * b.columns >= kFarValues; }

// One block of K for one panel of columns: down the rows of c.
void multiply_panel(const ProductArgs& args, const Block& block, Index k0, Index depth,
                    Index column, bool accumulate) {
    const Index left = block.columns - column, columns = left < kColumns ? left : kColumns;
    const Index vectors = (columns + kWidth - 1) / kWidth;
    const auto choose = [&](Index rows) {
        return block.transposed ? choose_tile<true>(rows, vectors)
                                : choose_tile<false>(rows, vectors);
    };
    const Index panel = (args.column_begin + column) / kColumns;
    const float* b = static_cast<const float*>(args.b.data) +
                     (panel * args.b.rows + args.k_begin + k0) * kColumns;
    Tile tile{depth,
              block.a + k0 * (block.transposed ? block.a_step : 1),
              block.a_step,
              b,
              block.c + column,
              block.c_ld,
              columns,
              accumulate};
    const TileFunction whole = choose(kRows);
    Index row = 0;
    // Each tile asks for its share of the next panel.
    const Index share = lies_far(args.b) ? round_up(depth * kColumns * kRows / block.rows, 16) : 0;
    const float* next = b + args.b.rows * kColumns;
    for (; row + kRows <= block.rows; row += kRows) {
        for (Index i = 0; i < share; i += 16) __builtin_prefetch(next + i, 0, 2);
        next += share;
        whole(tile);
        tile.a += block.a_tile;
        tile.c += kRows * block.c_ld;
    }
    if (row < block.rows) choose(block.rows - row)(tile);
}

void multiply_block(const ProductArgs& args, const Block& block) {
    const Index depth = block_depth(args.k);
    for (Index k0 = 0; k0 < args.k; k0 += depth) {
        const Index here = args.k - k0 < depth ? args.k - k0 : depth;
        for (Index column = 0; column < block.columns; column += kColumns)
            multiply_panel(args, block, k0, here, column, args.accumulate || k0 > 0);
    }
}

// Some rows of the whole product, a block of columns at a time, so that its sums stay in the cache
// from one block of K to the next: through the epilogue or straight into c. `block` has the
// left-hand side.
void multiply_rows(const ProductArgs& whole, Index row, Block block) {
    ProductArgs args = whole;
    const bool into_c = whole.epilogue == nullptr || whole.accumulate;
    float* c = whole.c == nullptr ? nullptr : whole.c + row * whole.c_ld;
    const Index most = whole.epilogue == nullptr && whole.k <= kDepth ? whole.n
                       : block.rows > kBlockRows                      ? kFarColumns
                                                                      : kBlockColumns;
    for (Index column = 0; column < whole.n; column += most) {
        const Index left = whole.n - column;
        block.columns = left < most ? left : most;
        block.c = into_c ? c + column : static_cast<float*>(whole.scratch);
        block.c_ld = into_c ? whole.c_ld : most;
        args.column_begin = whole.column_begin + column;
        multiply_block(args, block);
        if (whole.epilogue != nullptr)
            finish_block(*whole.epilogue, row, block.rows, column, block.columns, block.c,
                         block.c_ld);
    }
}

// Rows of floats, `step` apart.
Block upright(Index rows, const float* a, Index step) {
    return {rows, 0, a, step, kRows * step, false, nullptr, 0};
}

// Columns [row, row + rows) of a matrix whose rows are steps of k, in tiles of kRows that follow
// each other: read in place, each step of k would touch another cache line.
Block gathered(const ProductArgs& args, Index row, Index rows, float* memory) {
    for (Index k = 0; k < args.k; ++k) {
        const float* from = static_cast<const float*>(args.a.data) + k * args.a.k_step + row;
        float* to = memory + k * kRows;
        Index r = 0;
        for (; r + kRows <= rows; r += kRows)
            std::memcpy(to + r * args.k, from + r, kRows * sizeof(float));
        if (r < rows) std::memcpy(to + r * args.k, from + r, std::size_t(rows - r) * sizeof(float));
    }
    return {rows, 0, memory, kRows, kRows * args.k, true, nullptr, 0};
}

// Calls each(first row, rows) for blocks of about the same size.
template <class Each>
void for_row_blocks(Index m, Index most, const Each& each) {
    const Index blocks = (m + most - 1) / most;
    const Index size = blocks <= 1 ? most : round_up((m + blocks - 1) / blocks, kRows);
    for (Index row = 0; row < m; row += size) each(row, m - row < size ? m - row : size);
}

// Behind the block of sums: [kBlockRows, k] floats.
float* lhs_scratch(const ProductArgs& args) {
    return static_cast<float*>(args.scratch) + kBlockRows * kBlockColumns;
}

// One row of a panel, columns apart by `step`; what is missing becomes zero.
template <class T>
void pack_row(const T* from, Index step, Index columns, float scale, bool rounded, float* to) {
    T padded[kColumns] = {};
    if (columns < kColumns) {
        for (Index c = 0; c < columns; ++c) padded[c] = from[c * step];
        from = padded;
        step = 1;
    }
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
        const Vec x = step == 1 ? load(from + v * kWidth) : gather(from + v * kWidth * step, step);
        const Vec scaled = x * set(scale);
        store(to + v * kWidth, rounded ? widen(narrow(scaled)) : scaled);
    }
}

// As many rows of a whole panel as fill registers, from columns whose elements follow each other:
// in squares that are transposed. Returns how many.
template <class T>
Index pack_squares(const PackSource& source, const T* from, bool rounded, float* to) {
    Index k = 0;
    for (; k + kWidth <= source.rows; k += kWidth, to += kWidth * kColumns) {
        Vec scale = set(source.scale);
        if (source.row_scale != nullptr) scale *= load(source.row_scale + k);
        for (int v = 0; v < kVectors; ++v) {
            BitVec square[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i) {
                const Vec x = load(from + (v * kWidth + i) * source.column_step + k) * scale;
                square[i] = as_bits(rounded ? widen(narrow(x)) : x);
            }
            transpose(square);
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                store(to + i * kColumns + v * kWidth, from_bits(square[i]));
        }
    }
    return k;
}

template <class T>
void pack_panels(const PackSource& source, bool rounded, float* packed) {
    for (Index column = 0; column < source.columns; column += kColumns) {
        const Index left = source.columns - column;
        const T* from = static_cast<const T*>(source.data) + column * source.column_step;
        const bool squares = source.row_step == 1 && source.column_step != 1 && left >= kColumns;
        Index k = squares ? pack_squares(source, from, rounded, packed) : 0;
        packed += k * kColumns;
        for (; k < source.rows; ++k, packed += kColumns) {
            const float row_scale = source.row_scale == nullptr ? 1.0F : source.row_scale[k];
            pack_row(from + k * source.row_step, source.column_step,
                     left < kColumns ? left : kColumns, source.scale * row_scale, rounded, packed);
        }
    }
}

void pack_as(const PackSource& source, bool rounded, void* packed) {
    with_type(source.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        pack_panels<T>(source, rounded, static_cast<float*>(packed));
    });
}

}  // namespace

Index panel_bytes(Index rows, Index columns) { return rows * round_up(columns, kColumns) * 4; }

void pack_floats(const PackSource& source, void* packed) { pack_as(source, false, packed); }
void pack_rounded(const PackSource& source, void* packed) { pack_as(source, true, packed); }

void multiply_floats(const ProductArgs& args) {
    const auto* a = static_cast<const float*>(args.a.data);
    const Index step = args.a.row_step;
    if (step == 1 && args.a.k_step != 1)
        return for_row_blocks(args.m, kBlockRows, [&](Index row, Index rows) {
            multiply_rows(args, row, gathered(args, row, rows, lhs_scratch(args)));
        });
    // The more rows, the more seldom the right-hand side is read; but what an epilogue reads, or
    // what is kept between two blocks of K, has to stay in the cache.
    const bool far = lies_far(args.b), once = args.epilogue == nullptr && args.k <= kDepth;
    const Index near_rows = once ? args.m : args.epilogue == nullptr ? kFarRows : kBlockRows;
    const Index block_rows = far ? kFarRows : near_rows;
    for_row_blocks(args.m, block_rows, [&](Index row, Index rows) {
        multiply_rows(args, row, upright(rows, a + row * step, step));
    });
}

void multiply_rounded(const ProductArgs& args) {
    float* wide = lhs_scratch(args);
    const auto* from = static_cast<const BFloat16*>(args.a.data);
    const Index step = round_up(args.k, kWidth);
    for_row_blocks(args.m, kBlockRows, [&](Index row, Index rows) {
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < args.k; c += kWidth)
                store(wide + r * step + c, load(from + (row + r) * args.a.row_step + c));
        multiply_rows(args, row, upright(rows, wide, step));
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
