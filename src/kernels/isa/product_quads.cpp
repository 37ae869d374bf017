// Products of whole numbers of a byte: the right-hand side packed in quads with a scale for every
// column, rows of the left-hand side with a scale each. Sums are 32-bit numbers, exact up to k of
// 66,000, and equal on every processor; only then are they multiplied by the two scales.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/quads.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kQuadDepth = 64;    // of k in a step
constexpr Index kHalfBytes = 1024;  // 16 columns of a step
constexpr Index kSumBytes = kPanelColumns * 4;
constexpr Index kQuadStep = kSumBytes + 2 * kHalfBytes;

[[gnu::always_inline]] inline Index quad_panel_bytes(Index rows) {
    return kSumBytes + round_up(rows, kQuadDepth) / kQuadDepth * kQuadStep;
}

// ---- Packing

// 64 values of a column from k on, zero beyond the source.
template <class T>
void column_values(const PackSource& s, Index column, Index k, float (&values)[kQuadDepth]) {
    const T* from = static_cast<const T*>(s.data) + k * s.row_step + column * s.column_step;
    const Index count = s.rows - k < kQuadDepth ? s.rows - k : kQuadDepth;
    for (Index i = 0; i < count; ++i) values[i] = value(from[i * s.row_step]) * s.scale;
    if (s.row_scale != nullptr)
        for (Index i = 0; i < count; ++i) values[i] *= s.row_scale[k + i];
    for (Index i = count; i < kQuadDepth; ++i) values[i] = 0;
}

template <class T>
void pack_quad_column(const PackSource& s, Index column, std::byte* panel) {
    float values[kQuadDepth];
    Vec greatest = set(0.0F), finite = set(0.0F);
    for (Index k = 0; k < s.rows; k += kQuadDepth) {
        column_values<T>(s, column, k, values);
        for (Index i = 0; i < kQuadDepth; i += kWidth) {
            greatest = max(absolute(load(values + i)), greatest);
            finite += load(values + i) * set(0.0F);
        }
    }
    const ByteScale scale = byte_scale(largest(greatest), sum(finite));
    const Index at = column % kPanelColumns;
    std::memcpy(panel + at * 4, &scale.scale, 4);
    std::byte* step = panel + kSumBytes;
    for (Index k = 0; k < s.rows; k += kQuadDepth, step += kQuadStep) {
        column_values<T>(s, column, k, values);
        std::uint8_t bytes[kQuadDepth];
        IntVec sums{};
        for (Index i = 0; i < kQuadDepth; i += kWidth) {
            const IntVec whole = nearest(load(values + i) * set(scale.inverse));
            const ByteVec narrow_whole = __builtin_convertvector(whole, ByteVec);
            std::memcpy(bytes + i, &narrow_whole, sizeof narrow_whole);
            sums += whole;
        }
        std::int32_t total = 0;
        for (int i = 0; i < kWidth; ++i) total += sums[i];
        total *= -128;
        std::memcpy(step + at * 4, &total, 4);
        std::byte* half = step + kSumBytes + at / 16 * kHalfBytes + at % 16 * 4;
        for (Index quad = 0; quad < kQuadDepth / 4; ++quad)
            std::memcpy(half + quad * 64, bytes + quad * 4, 4);
    }
}

// ---- Multiplying

// Up to kBlockRows rows and one panel of the result.
struct QuadSquare {
    Index rows;
    Index columns;  // that exist in c
    Index k;
    const std::uint8_t* row_scales;  // of the first row; the others follow in steps
    Index row_scale_step;            // of bytes
    const std::byte* a;              // as left_quad() reads it
    Index a_step;                    // bytes from row to row
    const std::byte* b;              // the first step
    const float* scales;
    const std::int32_t* start;  // [32], what the zeros of the left-hand side add, negative
    float* c;
    Index c_ld;
    bool accumulate;
};

// `Rows` rows from `row` on, `Vectors` registers of columns from `first` on.
template <int Rows, int Vectors>
void multiply_quad_rows(const QuadSquare& s, Index row, Index first) {
    const std::byte* a = s.a + row * s.a_step;
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
                const LeftQuad x = left_quad(a + r * s.a_step);
#pragma GCC unroll 8
                for (int v = 0; v < Vectors; ++v) sums[r][v] = dot_quads(sums[r][v], x, columns[v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        float row_scale;
        std::memcpy(&row_scale, s.row_scales + (row + r) * s.row_scale_step, sizeof row_scale);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
            const Index left = s.columns - first - v * kWidth;
            if (left <= 0) continue;
            const Vec scale = set(row_scale) * load(s.scales + first + v * kWidth);
            Vec result = rounded_here(__builtin_convertvector(sums[r][v], Vec) * scale);
            float* to = c + r * s.c_ld + v * kWidth;
            if (left >= kWidth) {
                if (s.accumulate) result += load(to);
                store(to, result);
            } else {
                if (s.accumulate) result += load_part(to, left);
                store_part(to, result, left);
            }
        }
    }
}

// As many sums as there are registers for.
constexpr int kQuadVectors = 2;
constexpr Index kQuadRows = kWidth == 16 ? 8 : 4;

void multiply_quad_square(const QuadSquare& s) {
    using Multiply = void (*)(const QuadSquare&, Index, Index);
    static constexpr Multiply kByRows[] = {
        multiply_quad_rows<1, kQuadVectors>,
        multiply_quad_rows<2, kQuadVectors>,
        multiply_quad_rows<3, kQuadVectors>,
        multiply_quad_rows<4, kQuadVectors>,
#if defined(__AVX512F__)
        multiply_quad_rows<5, kQuadVectors>,
        multiply_quad_rows<6, kQuadVectors>,
        multiply_quad_rows<7, kQuadVectors>,
        multiply_quad_rows<8, kQuadVectors>,
#endif
    };
    for (Index first = 0; first < s.columns; first += kQuadVectors * kWidth)
        for (Index row = 0; row < s.rows; row += kQuadRows) {
            const Index rows = s.rows - row < kQuadRows ? s.rows - row : kQuadRows;
            kByRows[rows - 1](s, row, first);
        }
}

struct LeftBlock {
    const std::byte* data;
    Index step;
};

// Some rows of the left-hand side as left_quad() reads them: in place, or split into `memory`,
// which has 4 * round_up(k, 32) bytes a row.
LeftBlock left_block(const std::uint8_t* a, Index a_ld, Index rows, Index k, std::byte* memory) {
#if defined(__AVX512VNNI__)
    (void)rows, (void)k, (void)memory;
    return {reinterpret_cast<const std::byte*>(a), a_ld};
#else
    const Index quads = (k + 3) / 4, step = quads * kLeftBytes;
    for (Index r = 0; r < rows; ++r) split_quads(a + r * a_ld, quads, memory + r * step);
    return {memory, step};
#endif
}

// The sum over the steps of k of what each one starts with.
void add_quad_starts(const std::byte* b, Index k, std::int32_t (&start)[kPanelColumns]) {
    for (Index done = 0; done < k; done += kQuadDepth, b += kQuadStep)
        for (Index c = 0; c < kPanelColumns; ++c) {
            std::int32_t sums;
            std::memcpy(&sums, b + c * 4, sizeof sums);
            start[c] += sums;
        }
}

}  // namespace

Index quad_bytes(Index rows, Index columns) {
    return round_up(columns, kPanelColumns) / kPanelColumns * quad_panel_bytes(rows);
}

void pack_quads(const PackSource& source, void* packed) {
    std::memset(packed, 0, std::size_t(quad_bytes(source.rows, source.columns)));
    with_type(source.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        for (Index column = 0; column < source.columns; ++column)
            pack_quad_column<T>(source, column,
                                static_cast<std::byte*>(packed) +
                                    column / kPanelColumns * quad_panel_bytes(source.rows));
    });
}

void multiply_quads(const ProductArgs& args) {
    auto* block_memory = static_cast<std::byte*>(args.scratch) + kBlockRows * kBlockColumns * 4;
    const std::uint8_t* a = nullptr;
    LeftBlock left_rows{};
    const auto start_rows = [&](Index row, Index rows) {
        a = static_cast<const std::uint8_t*>(args.a.data) + row * args.a.row_step;
        left_rows = left_block(a, args.a.row_step, rows, args.k, block_memory);
    };
    for_panels(args, start_rows, [&](const PanelOfSums& p) {
        const std::byte* b =
            static_cast<const std::byte*>(args.b.data) + p.panel * quad_panel_bytes(args.b.rows);
        const std::byte* step = b + kSumBytes + args.k_begin / kQuadDepth * kQuadStep;
        std::int32_t start[kPanelColumns] = {};
        if (args.a.zero != 0) add_quad_starts(step, args.k, start);
        multiply_quad_square({p.rows, p.columns, args.k, a + args.a.scale_at, args.a.row_step,
                              left_rows.data, left_rows.step, step,
                              reinterpret_cast<const float*>(b), start, p.c, p.c_ld,
                              args.accumulate});
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
