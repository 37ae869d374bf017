// Products of whole numbers of a byte: the right-hand side packed in quads with a scale for every
// column, rows of the left-hand side with a scale each. Sums are 32-bit numbers, exact up to k of
// 66,000, and equal on every processor; only then are they multiplied by the two scales. In
// registers with what the processor has for it, or 2 × 2 tiles of the result at a time with AMX (or
// with plain loops that stand for it), which reads the same packed bytes.
#include <utility>

#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/quads.h"
#include "kernels/isa/tiles.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// Up to kBlockRows rows and one panel of the result.
struct QuadSquare {
    Index rows;
    Index columns;  // that exist in c
    Index k;
    LeftBlock left;
    const std::uint8_t* row_scales;  // of the first row; the others follow in steps
    Index row_scale_step;            // of bytes
    const std::byte* b;              // the first step
    const float* scales;
    const std::int32_t* start;  // [32], what the zeros of the left-hand side add, negative
    float* c;
    Index c_ld;
    bool accumulate;

    [[gnu::always_inline]] float row_scale(Index row) const {
        float scale;
        std::memcpy(&scale, row_scales + row * row_scale_step, sizeof scale);
        return scale;
    }
};

// ---- In registers

// `Rows` rows from `row` on, `Vectors` registers of columns from `first` on.
template <int Rows, int Vectors>
void multiply_quad_rows(const QuadSquare& s, Index row, Index first) {
    const std::byte* a = s.left.data + row * s.left.step;
    float* c = s.c + row * s.c_ld + first;
    IntVec sums[Rows][Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
        IntVec start;
        std::memcpy(&start, s.start + first + v * kWidth, sizeof start);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) sums[r][v] = start;
    }
    const std::byte* b = s.b + kSumBytes + first / 16 * kHalfBytes + first % 16 * 4;
    for (Index k = 0; k < s.k; k += kQuadDepth, b += kQuadStep) {
        const Index quads = s.k - k < kQuadDepth ? (s.k - k + 3) / 4 : kQuadDepth / 4;
        for (Index quad = 0; quad < quads; ++quad, a += kLeftBytes) {
            RightQuad columns[Vectors];
#pragma GCC unroll 8
            for (int v = 0; v < Vectors; ++v) {
                BitVec bits;
                std::memcpy(&bits,
                            b + v * kWidth / 16 * kHalfBytes + v * kWidth % 16 * 4 + quad * 64,
                            sizeof bits);
                columns[v] = right_quad(bits);
            }
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                const LeftQuad x = left_quad(a + r * s.left.step);
#pragma GCC unroll 8
                for (int v = 0; v < Vectors; ++v) sums[r][v] = dot_quads(sums[r][v], x, columns[v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        const float row_scale = s.row_scale(row + r);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
            const Index left = s.columns - first - v * kWidth;
            if (left <= 0) continue;
            put_sums(sums[r][v], set(row_scale) * load(s.scales + first + v * kWidth), left,
                     s.accumulate, c + r * s.c_ld + v * kWidth);
        }
    }
}

constexpr int kQuadVectors = 2;

template <int... Row>
void multiply_some_quad_rows(const QuadSquare& s, Index row, Index rows, Index first,
                             std::integer_sequence<int, Row...>) {
    using Multiply = void (*)(const QuadSquare&, Index, Index);
    static constexpr Multiply kByRows[] = {multiply_quad_rows<Row + 1, kQuadVectors>...};
    kByRows[rows - 1](s, row, first);
}

struct QuadRegisters {
    std::byte* memory;  // of the product, for left_block()

    LeftBlock start(const std::uint8_t* a, Index a_ld, Index rows, Index k) const {
        return left_block(a, a_ld, rows, k, memory);
    }
    // As many rows at a time as there are registers for, and equally many each time.
    void multiply(const QuadSquare& s) const {
        for (Index first = 0; first < s.columns; first += kQuadVectors * kWidth)
            for (Index row = 0; row < s.rows;) {
                const Index left = s.rows - row, times = (left + kQuadRows - 1) / kQuadRows;
                const Index rows = (left + times - 1) / times;
                multiply_some_quad_rows(s, row, rows, first,
                                        std::make_integer_sequence<int, kQuadRows>());
                row += rows;
            }
    }
};

// ---- In tiles

template <class Tiles>
class QuadTiles {
public:
    LeftBlock start(const std::uint8_t* a, Index a_ld, Index, Index) const {
        return {reinterpret_cast<const std::byte*>(a), a_ld};
    }

    void multiply(const QuadSquare& s) {
        alignas(64) std::int32_t sums[2 * kTileRows][kQuadPanel];
        add_up(s, sums);
        for (Index r = 0; r < s.rows; ++r)
            for (Index first = 0; first < s.columns; first += kWidth) {
                IntVec row, start;
                std::memcpy(&row, &sums[r][first], sizeof row);
                std::memcpy(&start, s.start + first, sizeof start);
                put_sums(row + start, set(s.row_scale(r)) * load(s.scales + first),
                         s.columns - first, s.accumulate, s.c + r * s.c_ld + first);
            }
    }

private:
    // Whole tiles: up to the next multiple of 16 rows is read and computed.
    void add_up(const QuadSquare& s, std::int32_t (&sums)[2 * kTileRows][kQuadPanel]) {
        const bool two = s.rows > kTileRows;
        tiles_.template zero<0>();
        tiles_.template zero<1>();
        tiles_.template zero<2>();
        tiles_.template zero<3>();
        const std::byte *a = s.left.data, *b = s.b + kSumBytes;
        for (Index k = 0; k < s.k; k += kQuadDepth, a += kQuadDepth, b += kQuadStep) {
            tiles_.template load<4>(a, s.left.step);
            tiles_.template load<6>(b, 64);
            tiles_.template load<7>(b + kHalfBytes, 64);
            tiles_.template dot_bytes<0, 4, 6>();
            tiles_.template dot_bytes<1, 4, 7>();
            if (!two) continue;
            tiles_.template load<5>(a + kTileRows * s.left.step, s.left.step);
            tiles_.template dot_bytes<2, 5, 6>();
            tiles_.template dot_bytes<3, 5, 7>();
        }
        constexpr Index kRowBytes = sizeof sums[0];
        tiles_.template store<0>(&sums[0][0], kRowBytes);
        tiles_.template store<1>(&sums[0][16], kRowBytes);
        tiles_.template store<2>(&sums[kTileRows][0], kRowBytes);
        tiles_.template store<3>(&sums[kTileRows][16], kRowBytes);
    }

    Tiles tiles_;
};

// ---- Both

template <class Engine>
void multiply_bytes_with(Engine& engine, const ProductArgs& args) {
    const std::uint8_t* a = nullptr;
    LeftBlock left{};
    const auto start_rows = [&](Index row, Index rows) {
        a = static_cast<const std::uint8_t*>(args.a.data) + row * args.a.row_step;
        left = engine.start(a, args.a.row_step, rows, args.k);
    };
    for_panels(args, start_rows, [&](const PanelOfSums& p) {
        const std::byte* b =
            static_cast<const std::byte*>(args.b.data) + p.panel * quad_panel_bytes(args.b.rows);
        const std::byte* step = b + kSumBytes + args.k_begin / kQuadDepth * kQuadStep;
        std::int32_t start[kQuadPanel] = {};
        if (args.a.zero != 0) add_quad_starts(step, args.k, start);
        engine.multiply({p.rows, p.columns, args.k, left, a + args.a.scale_at, args.a.row_step,
                         step, reinterpret_cast<const float*>(b), start, p.c, p.c_ld,
                         args.accumulate});
    });
}

}  // namespace

static_assert(kQuadPanel == kPanelColumns);

void multiply_quads(const ProductArgs& args) {
    QuadRegisters registers{static_cast<std::byte*>(args.scratch) + kBlockRows * kBlockColumns * 4};
    multiply_bytes_with(registers, args);
}

void multiply_plain_byte_tiles(const ProductArgs& args) {
    QuadTiles<PlainTiles> tiles;
    multiply_bytes_with(tiles, args);
}

#if defined(__AVX512BF16__)
void multiply_amx_bytes(const ProductArgs& args) {
    QuadTiles<AmxTiles> tiles;
    multiply_bytes_with(tiles, args);
}
#endif

}  // namespace cait::kernels::CAIT_KERNEL_ISA
