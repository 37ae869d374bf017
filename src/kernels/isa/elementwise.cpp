// The scaled residual and the small loops between products: scaling, sums, bfloat16.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

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

void residual_backward(const float* dy, const float* branch, const float* scale, float factor,
                       Index rows, Index dim, float* d_branch, float* d_scale) {
    for (Index r = 0; r < rows; ++r) {
        const Index begin = r * dim;
        for (Index c = 0; c + kWidth <= dim; c += kWidth) {
            const Vec gradient = load(dy + begin + c) * set(factor);
            if (d_scale != nullptr)
                store(d_scale + c, load(d_scale + c) + gradient * load(branch + begin + c));
            if (d_branch != nullptr)
                store(d_branch + begin + c,
                      scale == nullptr ? gradient : gradient * load(scale + c));
        }
        for (Index c = dim / kWidth * kWidth; c < dim; ++c) {
            const float gradient = dy[begin + c] * factor;
            if (d_scale != nullptr) d_scale[c] += gradient * branch[begin + c];
            if (d_branch != nullptr)
                d_branch[begin + c] = scale == nullptr ? gradient : gradient * scale[c];
        }
    }
}

void scale(const float* x, float factor, Index count, float* y, bool bfloat16) {
    const auto scaled = [&](Vec v) {
        return bfloat16 ? round_to_bfloat16(v * set(factor)) : v * set(factor);
    };
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) store(y + i, scaled(load(x + i)));
    if (i < count) store_part(y + i, scaled(load_part(x + i, count - i)), count - i);
}

void add(const float* x, Index count, float* y) {
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) store(y + i, load(y + i) + load(x + i));
    for (; i < count; ++i) y[i] += x[i];
}

void put_away(const float* x, Index count, float* y) {
    Index i = 0;
#if defined(__AVX2__)
    // Such stores need whole, aligned registers.
    for (; i < count && reinterpret_cast<std::uintptr_t>(y + i) % sizeof(Vec) != 0; ++i)
        y[i] = x[i];
    for (; i + kWidth <= count; i += kWidth)
#if defined(__AVX512F__)
        _mm512_stream_ps(y + i, load(x + i));
#else
        _mm256_stream_ps(y + i, load(x + i));
#endif
    _mm_sfence();
#endif
    for (; i < count; ++i) y[i] = x[i];
}

void add_columns(const float* x, Index rows, Index columns, Index ld, float* sums) {
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
        for (Index r = 0; r < rows; ++r) sums[c] += x[r * ld + c];
}

void to_bfloat16(const float* x, Index count, std::uint16_t* y) {
    const auto narrow = [](Vec v) {
        const BitVec bits = bfloat16_bits(v) >> 16;
        // Rounding could carry a NaN's bits into infinity.
        return __builtin_convertvector(v == v ? bits : BitVec{} + 0x7FC0U, HalfVec);
    };
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        const HalfVec half = narrow(load(x + i));
        std::memcpy(y + i, &half, sizeof half);
    }
    if (i == count) return;
    const HalfVec half = narrow(load_part(x + i, count - i));
    for (Index j = 0; i + j < count; ++j) y[i + j] = half[j];
}

void from_bfloat16(const std::uint16_t* x, Index count, float* y) {
    Index i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        HalfVec half;
        std::memcpy(&half, x + i, sizeof half);
        const BitVec bits = __builtin_convertvector(half, BitVec) << 16;
        std::memcpy(y + i, &bits, sizeof bits);
    }
    for (; i < count; ++i) {
        const std::uint32_t bits = std::uint32_t(x[i]) << 16;
        std::memcpy(y + i, &bits, sizeof bits);
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
