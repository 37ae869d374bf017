// Packs a right-hand side as whole numbers of a byte in quads, with a scale for every column: see
// Layout::quads in kernels/product.h.
#include "kernels/isa/isa.h"
#include "kernels/isa/quads.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

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
    const Index at = column % kQuadPanel;
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

}  // namespace

Index quad_bytes(Index rows, Index columns) {
    return round_up(columns, kQuadPanel) / kQuadPanel * quad_panel_bytes(rows);
}

void pack_quads(const PackSource& source, void* packed) {
    std::memset(packed, 0, std::size_t(quad_bytes(source.rows, source.columns)));
    with_type(source.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        for (Index column = 0; column < source.columns; ++column)
            pack_quad_column<T>(source, column,
                                static_cast<std::byte*>(packed) +
                                    column / kQuadPanel * quad_panel_bytes(source.rows));
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
