// Number formats of operands and views of matrices that know theirs. float32 and bfloat16 are here;
// int8 with scales joins them with quantisation. Everything is inlined by force: the files of isa/
// include this, and a copy that a linker keeps might be one that this processor cannot run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cait::kernels {

using Index = std::int64_t;

enum class Format : std::uint8_t { f32, bf16 };

// The upper half of a float32, two bytes in memory; kernels compute with floats.
struct BFloat16 {
    std::uint16_t bits;
};

[[gnu::always_inline]] constexpr Index size_of(Format format) {
    return format == Format::f32 ? 4 : 2;
}

[[gnu::always_inline]] constexpr Index round_up(Index x, Index step) {
    return (x + step - 1) / step * step;
}

// Every buffer and every row of a bfloat16 operand starts at a cache line.
constexpr Index kAlignment = 64;
[[gnu::always_inline]] constexpr Index aligned(Index bytes) { return round_up(bytes, kAlignment); }

// How a product's left-hand side lies in memory, see kernels/product.h: elements of a row, bytes of
// the whole.
[[gnu::always_inline]] constexpr Index lhs_ld(Format format, Index columns) {
    return format == Format::f32 ? columns : round_up(columns, 32);
}
[[gnu::always_inline]] constexpr Index lhs_bytes(Format format, Index rows, Index columns) {
    return aligned((format == Format::f32 ? rows : round_up(rows, 16)) * lhs_ld(format, columns) *
                   size_of(format));
}

// Rows of `ld` elements each; how many rows and columns count is said by whoever hands them over.
struct Rows {
    const void* data = nullptr;
    Format format = Format::f32;
    Index ld = 0;

    [[gnu::always_inline]] explicit operator bool() const { return data != nullptr; }
    [[gnu::always_inline]] Rows from(Index row, Index column = 0) const {
        return {static_cast<const std::byte*>(data) + (row * ld + column) * size_of(format), format,
                ld};
    }
};

struct MutableRows {
    void* data = nullptr;
    Format format = Format::f32;
    Index ld = 0;

    [[gnu::always_inline]] explicit operator bool() const { return data != nullptr; }
    [[gnu::always_inline]] MutableRows from(Index row, Index column = 0) const {
        return {static_cast<std::byte*>(data) + (row * ld + column) * size_of(format), format, ld};
    }
    [[gnu::always_inline]] operator Rows() const { return {data, format, ld}; }
};

[[gnu::always_inline]] inline Rows rows_of(const float* data, Index ld) {
    return {data, Format::f32, ld};
}
[[gnu::always_inline]] inline MutableRows rows_of(float* data, Index ld) {
    return {data, Format::f32, ld};
}

}  // namespace cait::kernels
