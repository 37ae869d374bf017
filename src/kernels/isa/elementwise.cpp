// The scaled residual and scales of channels by themselves, and sums.
#include "kernels/isa/epilogue.h"
#include "kernels/isa/isa.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

template <class T>
void add_typed_columns(const T* x, Index ld, Index rows, Index columns, float* sums) {
    Index c = 0;
    for (; c + 4 * kWidth <= columns; c += 4 * kWidth) {
        Vec total[4] = {load(sums + c), load(sums + c + kWidth), load(sums + c + 2 * kWidth),
                        load(sums + c + 3 * kWidth)};
        for (Index r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) total[v] += load(x + r * ld + c + v * kWidth);
        for (int v = 0; v < 4; ++v) store(sums + c + v * kWidth, total[v]);
    }
    for (; c + kWidth <= columns; c += kWidth) {
        Vec total = load(sums + c);
        for (Index r = 0; r < rows; ++r) total += load(x + r * ld + c);
        store(sums + c, total);
    }
    for (; c < columns; ++c)
        for (Index r = 0; r < rows; ++r) sums[c] += value(x[r * ld + c]);
}

}  // namespace

void residual(const float* x, const float* branch, const float* scale, float factor, Index rows,
              Index dim, float* y) {
    for (Index r = 0; r < rows; ++r, x += dim, branch += dim, y += dim) {
        Index c = 0;
        for (; c + kWidth <= dim; c += kWidth) {
            const Vec weight = scale == nullptr ? set(factor) : load(scale + c) * set(factor);
            store(y + c, load(x + c) + weight * load(branch + c));
        }
        for (; c < dim; ++c)
            y[c] = x[c] + (scale == nullptr ? factor : scale[c] * factor) * branch[c];
    }
}

void multiply_add(const float* x, const float* scale, const float* shift, Index rows, Index columns,
                  float* y) {
    for (Index r = 0; r < rows; ++r, x += columns, y += columns)
        for_columns(columns, [&](Index c, auto get, auto put) {
            const Vec scaled = scale == nullptr ? get(x + c) : get(x + c) * get(scale + c);
            put(y + c, shift == nullptr ? scaled : scaled + get(shift + c));
        });
}

void add(const float* x, Index count, float* y) {
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) store(y + i, load(y + i) + load(x + i));
    for (; i < count; ++i) y[i] += x[i];
}

void add_columns(const Rows& x, Index rows, Index columns, float* sums) {
    with_type(x.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        add_typed_columns(static_cast<const T*>(x.data), x.ld, rows, columns, sums);
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
