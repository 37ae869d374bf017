// What follows a product while a block of its sums lies in the first-level cache, see Epilogue in
// kernels/product.h. Rows are finished from left to right, so that what is written fills cache
// lines.
#pragma once

#include "kernels/isa/activation.h"
#include "kernels/product.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

// Calls each(column, load, store): whole registers first, then the rest of the row. `load` and
// `store` reach `kWidth` or fewer elements of any type at a pointer.
template <class Each>
[[gnu::always_inline]] inline void for_columns(Index columns, const Each& each) {
    Index c = 0;
    for (; c + kWidth <= columns; c += kWidth)
        each(
            c, [](auto* from) __attribute__((always_inline)) { return load(from); },
            [](auto* to, Vec v) __attribute__((always_inline)) { store(to, v); });
    if (c == columns) return;
    const Index left = columns - c;
    each(
        c, [left](auto* from) __attribute__((always_inline)) { return load_part(from, left); },
        [left](auto* to, Vec v) __attribute__((always_inline)) { store_part(to, v, left); });
}

template <class T>
[[gnu::always_inline]] inline T* at(const MutableRows& rows, Index row, Index column) {
    return static_cast<T*>(rows.data) + row * rows.ld + column;
}

// Rows [row, row + rows) and columns [column, column + columns) of the product, whose sums stand in
// `sums`.
struct BlockOfSums {
    Index row, rows, column, columns;
    const float* sums;
    Index ld;
};

// Calls each(row of the product, its sums, row bias) for every row of a block.
template <class Each>
[[gnu::always_inline]] inline void for_rows(const Epilogue& e, const BlockOfSums& b,
                                            const Each& each) {
    for (Index r = 0; r < b.rows; ++r)
        each(b.row + r, b.sums + r * b.ld,
             set(e.row_bias == nullptr ? 0.0F : e.row_bias[b.row + r]));
}

template <class T>
void finish_gelu_backward(const Epilogue& e, const BlockOfSums& b) {
    for_rows(e, b, [&](Index row, const float* sums, Vec) {
        T *before = at<T>(e.before, row, b.column), *after = at<T>(e.after, row, b.column);
        T* out = at<T>(e.out, row, b.column);
        for_columns(b.columns, [&](Index c, auto get, auto put) {
            const GeluBoth both = gelu_both<T>(get(before + c));
            put(after + c, both.y);
            put(out + c, get(sums + c) * both.slope);
        });
    });
}

// v as it goes into the activation.
template <class Get>
[[gnu::always_inline]] inline Vec biased(const float* sums, const float* bias, Vec row_bias,
                                         Get get, Index c) {
    const Vec v = get(sums + c);
    return (bias == nullptr ? v : v + get(bias + c)) + row_bias;
}

template <class T, Epilogue::Activation Kind>
void finish_forward(const Epilogue& e, const BlockOfSums& b) {
    const float* bias = e.bias == nullptr ? nullptr : e.bias + b.column;
    for_rows(e, b, [&](Index row, const float* sums, Vec row_bias) {
        T* before = e.before ? at<T>(e.before, row, b.column) : nullptr;
        T* out = at<T>(e.out, row, b.column);
        for_columns(b.columns, [&](Index c, auto get, auto put) {
            const Vec v = biased(sums, bias, row_bias, get, c);
            if constexpr (Kind == Epilogue::Activation::gelu)
                if (before != nullptr) put(before + c, v);
            put(out + c, activated<T, Kind>(v));
        });
    });
}

template <Epilogue::Activation Kind>
void finish_segments(const Epilogue& e, const BlockOfSums& b) {
    const float* bias = e.bias == nullptr ? nullptr : e.bias + b.column;
    const float* gain = e.gain == nullptr ? nullptr : e.gain + b.column;
    const Vec least = set(e.relu_last ? 0.0F : -__builtin_inff());
    for_rows(e, b, [&](Index row, const float* sums, Vec row_bias) {
        const Segment& segment = e.segments[row / e.segment_rows];
        const Index offset = row % e.segment_rows * e.segment_ld + b.column;
        for_columns(b.columns, [&](Index c, auto get, auto put) {
            const Vec v = activated<float, Kind>(biased(sums, bias, row_bias, get, c));
            const Vec weight =
                gain == nullptr ? set(segment.factor) : get(gain + c) * set(segment.factor);
            put(segment.out + offset + c,
                max(least, get(segment.residual + offset + c) + weight * v));
        });
    });
}

inline void finish_block(const Epilogue& e, Index row, Index rows, Index column, Index columns,
                         const float* sums, Index ld) {
    const BlockOfSums block{row, rows, column, columns, sums, ld};
    if (e.segments != nullptr)
        return with_activation(
            e.activation, [&](auto kind) { finish_segments<decltype(kind)::value>(e, block); });
    with_type(e.out.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        if (e.activation == Epilogue::Activation::gelu_backward)
            return finish_gelu_backward<T>(e, block);
        with_activation(e.activation,
                        [&](auto kind) { finish_forward<T, decltype(kind)::value>(e, block); });
    });
}

// Some rows of a product and one packed panel of its columns, and where their sums go.
constexpr Index kPanelColumns = 32;
struct PanelOfSums {
    Index row, rows;
    Index panel;    // of the packed matrix
    Index columns;  // that exist in c
    float* c;
    Index c_ld;
    bool in_scratch;  // c has room for whole panels and any rows of a block
};

// Calls multiply(PanelOfSums) for the panels of each block of sums, and finishes the block. Before
// the first panel of some rows, start(row, rows) is called.
template <class Start, class Multiply>
[[gnu::always_inline]] inline void for_panels(const ProductArgs& args, const Start& start,
                                              const Multiply& multiply) {
    const bool in_scratch = args.epilogue != nullptr && !args.accumulate;
    for (Index row = 0; row < args.m; row += kBlockRows) {
        const Index rows = args.m - row < kBlockRows ? args.m - row : kBlockRows;
        start(row, rows);
        for (Index begin = 0; begin < args.n; begin += kBlockColumns) {
            const Index left = args.n - begin;
            const Index columns = left < kBlockColumns ? left : kBlockColumns;
            float* c =
                in_scratch ? static_cast<float*>(args.scratch) : args.c + row * args.c_ld + begin;
            const Index c_ld = in_scratch ? kBlockColumns : args.c_ld;
            for (Index column = 0; column < columns; column += kPanelColumns) {
                const Index rest = columns - column;
                multiply(PanelOfSums{
                    row, rows, (args.column_begin + begin + column) / kPanelColumns,
                    rest < kPanelColumns ? rest : kPanelColumns, c + column, c_ld, in_scratch});
            }
            if (args.epilogue != nullptr)
                finish_block(*args.epilogue, row, rows, begin, columns, c, c_ld);
        }
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
