// Products of bfloat16 tiles: 2 × 2 tiles of the result at a time with AMX (or with plain loops
// that stand for it), 8 rows × 32 columns with vdpbf16ps, which needs neither whole tiles nor whole
// steps of k. The right-hand side is packed the same for both.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/pairs.h"
#include "kernels/isa/tiles.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kStepBytes = 2 * kTileBytes;  // of one step of 32 along k of a panel

// Up to 32 rows and one panel of the result, whole in memory at c.
struct Square {
    Index rows;     // that count; with tiles, up to the next multiple of 16 is computed
    Index columns;  // that exist in c; with tiles, all of them
    Index k;
    const BFloat16* a;
    Index a_ld;
    const std::byte* b;
    float* c;
    Index c_ld;
    bool accumulate;
};

template <class Tiles>
void multiply_square(Tiles& tiles, const Square& s) {
    const Index a_bytes = s.a_ld * 2, c_bytes = s.c_ld * 4;
    const bool two = s.rows > kTileRows;
    float* lower = s.c + kTileRows * s.c_ld;
    if (s.accumulate) {
        tiles.template load<0>(s.c, c_bytes);
        tiles.template load<1>(s.c + 16, c_bytes);
        if (two) {
            tiles.template load<2>(lower, c_bytes);
            tiles.template load<3>(lower + 16, c_bytes);
        }
    } else {
        tiles.template zero<0>();
        tiles.template zero<1>();
        tiles.template zero<2>();
        tiles.template zero<3>();
    }
    const BFloat16* a = s.a;
    const std::byte* b = s.b;
    for (Index k = 0; k < s.k; k += 32, a += 32, b += kStepBytes) {
        tiles.template load<4>(a, a_bytes);
        tiles.template load<6>(b, 64);
        tiles.template load<7>(b + kTileBytes, 64);
        tiles.template dot<0, 4, 6>();
        tiles.template dot<1, 4, 7>();
        if (!two) continue;
        tiles.template load<5>(a + kTileRows * s.a_ld, a_bytes);
        tiles.template dot<2, 5, 6>();
        tiles.template dot<3, 5, 7>();
    }
    tiles.template store<0>(s.c, c_bytes);
    tiles.template store<1>(s.c + 16, c_bytes);
    if (two) {
        tiles.template store<2>(lower, c_bytes);
        tiles.template store<3>(lower + 16, c_bytes);
    }
}

// The same with vdpbf16ps.
struct PairRegisters {};

template <int Rows, int Vectors>
void multiply_pair_rows(const Square& s, const BFloat16* a, float* c) {
    Vec sums[Rows][Vectors];
    const auto there = [&](int v) {  // columns of a register that exist in c
        const Index left = s.columns - v * kWidth;
        return left < 0 ? 0 : left < kWidth ? left : Index(kWidth);
    };
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
            const float* start = c + r * s.c_ld + v * kWidth;
            sums[r][v] = !s.accumulate        ? set(0.0F)
                         : there(v) == kWidth ? load(start)
                                              : load_part(start, there(v));
        }
    const std::byte* b = s.b;
    for (Index k = 0; k < s.k; k += 32, a += 32, b += kStepBytes) {
        const Index pairs = s.k - k < 32 ? (s.k - k + 1) / 2 : 16;
        for (Index pair = 0; pair < pairs; ++pair) {
            BitVec columns[Vectors];
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; ++v)
                std::memcpy(&columns[v],
                            b + v * kWidth / 16 * kTileBytes + pair * 64 + v * kWidth % 16 * 4,
                            sizeof columns[v]);
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                std::uint32_t x;
                std::memcpy(&x, a + r * s.a_ld + pair * 2, sizeof x);
                const BitVec broadcast = BitVec{} + x;
#pragma GCC unroll 8
                for (int v = 0; v < Vectors; ++v)
                    sums[r][v] = dot_pairs(sums[r][v], broadcast, columns[v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
            float* to = c + r * s.c_ld + v * kWidth;
            if (there(v) == kWidth)
                store(to, sums[r][v]);
            else
                store_part(to, sums[r][v], there(v));
        }
}

template <int Vectors>
void multiply_pairs_square(const Square& s) {
    using Multiply = void (*)(const Square&, const BFloat16*, float*);
    static constexpr Multiply kByRows[] = {
        multiply_pair_rows<1, Vectors>, multiply_pair_rows<2, Vectors>,
        multiply_pair_rows<3, Vectors>, multiply_pair_rows<4, Vectors>,
        multiply_pair_rows<5, Vectors>, multiply_pair_rows<6, Vectors>,
        multiply_pair_rows<7, Vectors>, multiply_pair_rows<8, Vectors>};
    for (Index row = 0; row < s.rows; row += 8) {
        const Index rows = s.rows - row < 8 ? s.rows - row : 8;
        kByRows[rows - 1](s, s.a + row * s.a_ld, s.c + row * s.c_ld);
    }
}

void multiply_square(PairRegisters&, const Square& s) {
    constexpr int kVectors = kPanelColumns / kWidth;
    // Of a panel that ends early, registers without a column are left out: a head has 48.
    if (s.columns <= kPanelColumns / 2)
        multiply_pairs_square<kVectors / 2>(s);
    else
        multiply_pairs_square<kVectors>(s);
}

// A square that does not lie whole in c: through a copy.
template <class Engine>
void multiply_edge(Engine& engine, const Square& s) {
    float whole[32 * kPanelColumns];
    const auto each = [&](const auto& work) {
        for (Index r = 0; r < s.rows; ++r)
            for (Index c = 0; c < s.columns; ++c)
                work(whole[r * kPanelColumns + c], s.c[r * s.c_ld + c]);
    };
    if (s.accumulate) {
        std::memset(whole, 0, sizeof whole);
        each([](float& in, float& out) { in = out; });
    }
    Square inside = s;
    inside.c = whole;
    inside.c_ld = kPanelColumns;
    multiply_square(engine, inside);
    each([](float& in, float& out) { out = in; });
}

void multiply_edge(PairRegisters& engine, const Square& s) { multiply_square(engine, s); }

template <class Engine>
void multiply_with(Engine& engine, const ProductArgs& args) {
    const auto* a = static_cast<const BFloat16*>(args.a.data);
    const Index all_steps = (args.b.rows + 31) / 32;
    const auto nothing = [](Index, Index) {};
    for_panels(args, nothing, [&](const PanelOfSums& p) {
        const Square square{p.rows,
                            p.columns,
                            args.k,
                            a + p.row * args.a.row_step,
                            args.a.row_step,
                            static_cast<const std::byte*>(args.b.data) +
                                (p.panel * all_steps + args.k_begin / 32) * kStepBytes,
                            p.c,
                            p.c_ld,
                            args.accumulate};
        if (p.in_scratch || (p.columns == kPanelColumns && p.rows % kTileRows == 0))
            multiply_square(engine, square);
        else
            multiply_edge(engine, square);
    });
}

}  // namespace

void multiply_pairs(const ProductArgs& args) {
    PairRegisters registers;
    multiply_with(registers, args);
}

void multiply_plain_tiles(const ProductArgs& args) {
    PlainTiles tiles;
    multiply_with(tiles, args);
}

#if defined(__AVX512BF16__)
void multiply_amx(const ProductArgs& args) {
    AmxTiles tiles;
    multiply_with(tiles, args);
}
#endif

}  // namespace cait::kernels::CAIT_KERNEL_ISA
