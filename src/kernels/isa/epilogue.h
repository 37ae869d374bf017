// What follows a product while a block of its sums lies in the first-level cache, see Epilogue in
// kernels/product.h. Rows are finished from left to right, so that what is written fills cache
// lines.
#pragma once

#include "kernels/isa/vec.h"
#include "kernels/product.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

constexpr float kInverseRootTwoPi = 0.39894228F;

// GELU in its exact form x Φ(x). What is rounded to bfloat16 afterwards may come from shorter
// polynomials.
template <class T>
[[gnu::always_inline]] inline Normal normal_for(Vec x) {
    if constexpr (sizeof(T) == sizeof(float))
        return normal(x);
    else
        return short_normal(x);
}
template <class T>
[[gnu::always_inline]] inline Vec gelu_of(Vec x) {
    return x * normal_for<T>(x).distribution;
}
struct GeluBoth {
    Vec y;
    Vec slope;
};
template <class T>
[[gnu::always_inline]] inline GeluBoth gelu_both(Vec x) {
    const Normal n = normal_for<T>(x);
    return {x * n.distribution, n.distribution + x * n.bell * set(kInverseRootTwoPi)};
}

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
template <class T>
void finish_activation(const Epilogue& e, Index row, Index rows, Index column, Index columns,
                       const float* sums, Index ld) {
    const bool backward = e.activation == Epilogue::Activation::gelu_backward;
    for (Index r = 0; r < rows; ++r, sums += ld) {
        T* before = e.before ? at<T>(e.before, row + r, column) : nullptr;
        T* after = e.after ? at<T>(e.after, row + r, column) : nullptr;
        T* out = at<T>(e.out, row + r, column);
        const float* bias = e.bias == nullptr ? nullptr : e.bias + column;
        if (backward) {
            for_columns(columns, [&](Index c, auto get, auto put) {
                const GeluBoth both = gelu_both<T>(get(before + c));
                put(after + c, both.y);
                put(out + c, get(sums + c) * both.slope);
            });
        } else {
            for_columns(columns, [&](Index c, auto get, auto put) {
                Vec v = get(sums + c);
                if (bias != nullptr) v += get(bias + c);
                if (before != nullptr) put(before + c, v);
                put(out + c, gelu_of<T>(v));
            });
        }
    }
}

inline void finish_segments(const Epilogue& e, Index row, Index rows, Index column, Index columns,
                            const float* sums, Index ld) {
    const float* bias = e.bias == nullptr ? nullptr : e.bias + column;
    const float* gain = e.gain == nullptr ? nullptr : e.gain + column;
    for (Index r = 0; r < rows; ++r, sums += ld) {
        const Segment& segment = e.segments[(row + r) / e.segment_rows];
        const Index offset = (row + r) % e.segment_rows * e.segment_ld + column;
        for_columns(columns, [&](Index c, auto get, auto put) {
            Vec v = get(sums + c);
            if (bias != nullptr) v += get(bias + c);
            const Vec weight =
                gain == nullptr ? set(segment.factor) : get(gain + c) * set(segment.factor);
            put(segment.out + offset + c, get(segment.residual + offset + c) + weight * v);
        });
    }
}

template <class T>
void finish_plain(const Epilogue& e, Index row, Index rows, Index column, Index columns,
                  const float* sums, Index ld) {
    const float* bias = e.bias == nullptr ? nullptr : e.bias + column;
    for (Index r = 0; r < rows; ++r, sums += ld) {
        T* out = at<T>(e.out, row + r, column);
        for_columns(columns, [&](Index c, auto get, auto put) {
            Vec v = get(sums + c);
            if (bias != nullptr) v += get(bias + c);
            put(out + c, v);
        });
    }
}

inline void finish_block(const Epilogue& e, Index row, Index rows, Index column, Index columns,
                         const float* sums, Index ld) {
    if (e.segments != nullptr) return finish_segments(e, row, rows, column, columns, sums, ld);
    with_type(e.out.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        if (e.activation == Epilogue::Activation::none)
            finish_plain<T>(e, row, rows, column, columns, sums, ld);
        else
            finish_activation<T>(e, row, rows, column, columns, sums, ld);
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
