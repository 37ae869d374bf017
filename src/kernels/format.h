// The table of number formats, one row each, and views of matrices that know theirs. A new format
// is a row here, its type in isa/vec.h and its products in dispatch.cpp; nothing else asks which
// format it has. Everything is inlined by force: the files of isa/ include this, and a copy that a
// linker keeps might be one that this processor cannot run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cait/precision.h"

namespace cait::kernels {

using Index = std::int64_t;

enum class Format : std::uint8_t { f32, bf16, s8 };

// The upper half of a float32, two bytes in memory; kernels compute with floats.
struct BFloat16 {
    std::uint16_t bits;
};

// A whole number from -127 to 127 with 128 added, as a product's left-hand side holds it: the
// number times the scale of its row is the value. The scale, a float, stands kRowTrailer bytes
// before the end of the row.
struct QuantizedByte {
    std::uint8_t bits;
};
constexpr Index kRowTrailer = 64;

struct ProductKernels;

// Products give float32, whatever the format of their operands.
struct FormatRow {
    Format format;
    Precision precision;         // of a model whose products have this format
    const char* precision_name;  // as users write it
    const char* name;            // in files and keys
    const char* long_name;       // for people
    Index size;                  // bytes of an element
    int significant_bits;
    // A product's left-hand side is padded to multiples of these, see kernels/product.h.
    Index lhs_rows, lhs_columns;
    Index lhs_trailer;  // elements behind each row of it
    // Activations are kept in this format: a product reads them where they lie, with any step.
    bool in_place;
    bool trains;  // there are backward products of it
    float (*to_float)(const void* element);
    void (*from_float)(float value, void* element);  // the nearest, ties to even
    const ProductKernels& (*products)();             // the best within CAIT_ISA, and how they pack
};

float float_to_float(const void* element);
void float_from_float(float value, void* element);
const ProductKernels& float_products();
float bfloat16_to_float(const void* element);
void bfloat16_from_float(float value, void* element);
const ProductKernels& bfloat16_products();
float byte_to_float(const void* element);
void byte_from_float(float value, void* element);
const ProductKernels& byte_products();

// In the order of Format.
inline constexpr FormatRow kFormats[] = {
    {.format = Format::f32,
     .precision = Precision::fp32,
     .precision_name = "fp32",
     .name = "f32",
     .long_name = "float32",
     .size = 4,
     .significant_bits = 24,
     .lhs_rows = 1,
     .lhs_columns = 1,
     .lhs_trailer = 0,
     .in_place = true,
     .trains = true,
     .to_float = float_to_float,
     .from_float = float_from_float,
     .products = float_products},
    {.format = Format::bf16,
     .precision = Precision::bf16,
     .precision_name = "bf16",
     .name = "bf16",
     .long_name = "bfloat16",
     .size = 2,
     .significant_bits = 8,
     .lhs_rows = 16,
     .lhs_columns = 32,
     .lhs_trailer = 0,
     .in_place = false,
     .trains = true,
     .to_float = bfloat16_to_float,
     .from_float = bfloat16_from_float,
     .products = bfloat16_products},
    {.format = Format::s8,
     .precision = Precision::int8,
     .precision_name = "int8",
     .name = "s8",
     .long_name = "int8",
     .size = 1,
     .significant_bits = 7,
     .lhs_rows = 16,
     .lhs_columns = 64,
     .lhs_trailer = kRowTrailer,
     .in_place = false,
     .trains = false,
     .to_float = byte_to_float,
     .from_float = byte_from_float,
     .products = byte_products},
};

[[gnu::always_inline]] constexpr const FormatRow& row_of(Format format) {
    return kFormats[std::size_t(format)];
}
const FormatRow& row_of(Precision precision);
// What stays beside products of this format: the format of attention, of narrow products and of
// whatever else loses too much by whole numbers. Of float formats, the format itself.
Format companion(Format format);
const FormatRow* format_named(const char* name);  // by its name in files; null if unknown

[[gnu::always_inline]] constexpr Index size_of(Format format) { return row_of(format).size; }

[[gnu::always_inline]] constexpr Index round_up(Index x, Index step) {
    return (x + step - 1) / step * step;
}

// Every buffer and every row of a bfloat16 operand starts at a cache line.
constexpr Index kAlignment = 64;
[[gnu::always_inline]] constexpr Index aligned(Index bytes) { return round_up(bytes, kAlignment); }

// How a product's left-hand side lies in memory, see kernels/product.h: elements of a row, bytes of
// the whole.
[[gnu::always_inline]] constexpr Index lhs_ld(Format format, Index columns) {
    return round_up(columns, row_of(format).lhs_columns) + row_of(format).lhs_trailer;
}
[[gnu::always_inline]] constexpr Index lhs_bytes(Format format, Index rows, Index columns) {
    return aligned(round_up(rows, row_of(format).lhs_rows) * lhs_ld(format, columns) *
                   size_of(format));
}

// Rows of `ld` elements each; the caller says how many rows and columns count.
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
