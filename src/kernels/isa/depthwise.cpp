// Depth-wise convolution, channels last: registers hold channels, and a few output pixels of a row
// share the weights and, where the kernel is known here, what they read. Pixels are reached through
// pointers; those beyond the image point at zeros, so that borders are like the rest.
#include "kernels/isa/isa.h"
#include "kernels/isa/lanes.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr int kPixels = 4;        // of a row at once
constexpr Index kChannels = 192;  // at once: what a 3×3 kernel meets of 4 pixels stays in the cache

// Some neighbouring output pixels.
struct Spot {
    const float* const* pixels;  // under the kernel's first position at the first of them
    Index pixel_ld;              // pointers from row to row
    float* out;
};

// Kernel widths and strides that are known here: inputs are loaded once for all outputs.
template <int Pixels, int Registers, int Width, int Stride>
[[gnu::always_inline]] inline void add_row(const float* const* row, Index c, const float* weight,
                                           Index channels, Vec (&sums)[Pixels][Registers]) {
    Vec taps[Width][Registers];
#pragma GCC unroll 8
    for (int kx = 0; kx < Width; ++kx)
#pragma GCC unroll 2
        for (int v = 0; v < Registers; ++v) taps[kx][v] = load(weight + kx * channels + v * kWidth);
#pragma GCC unroll 16
    for (int j = 0; j < (Pixels - 1) * Stride + Width; ++j) {
        const float* from = row[j] + c;
#pragma GCC unroll 2
        for (int v = 0; v < Registers; ++v) {
            const Vec x = load(from + v * kWidth);
#pragma GCC unroll 4
            for (int p = 0; p < Pixels; ++p)
                if (j - p * Stride >= 0 && j - p * Stride < Width)
                    sums[p][v] += x * taps[j - p * Stride][v];
        }
    }
}

// Any other.
template <int Pixels, int Registers, class Lanes>
[[gnu::always_inline]] inline void add_any_row(const DepthwiseArgs& a, const float* const* row,
                                               Index c, const float* weight, Lanes lanes,
                                               Vec (&sums)[Pixels][Registers]) {
    for (Index kx = 0; kx < a.kernel_width; ++kx, weight += a.channels)
#pragma GCC unroll 2
        for (int v = 0; v < Registers; ++v) {
            const Vec tap = lanes.get(weight + v * kWidth);
#pragma GCC unroll 4
            for (int p = 0; p < Pixels; ++p)
                sums[p][v] += lanes.get(row[p * a.stride + kx] + c + v * kWidth) * tap;
        }
}

// Channels [c, c + Registers * kWidth). Width and Stride 0: any.
template <int Pixels, int Registers, int Width, int Stride, class Lanes>
[[gnu::always_inline]] inline void convolve(const DepthwiseArgs& a, const Spot& spot, Index c,
                                            Lanes lanes) {
    Vec sums[Pixels][Registers];
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < Registers; ++v)
            sums[p][v] = a.bias == nullptr ? set(0.0F) : lanes.get(a.bias + c + v * kWidth);
    const float* weight = a.weight + c;
    const float* const* row = spot.pixels;
    for (Index ky = 0; ky < a.kernel_height; ++ky) {
        if constexpr (Width != 0)
            add_row<Pixels, Registers, Width, Stride>(row, c, weight, a.channels, sums);
        else
            add_any_row(a, row, c, weight, lanes, sums);
        weight += a.kernel_width * a.channels;
        row += spot.pixel_ld;
    }
#pragma GCC unroll 4
    for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < Registers; ++v)
            lanes.put(spot.out + p * a.channels + c + v * kWidth, sums[p][v]);
}

// Channels [begin, end), at least a register of them; the last register may overlap the one before.
template <int Pixels, int Width, int Stride>
void convolve_channels(const DepthwiseArgs& a, const Spot& spot, Index begin, Index end) {
    Index c = begin;
    for (; c + 2 * kWidth <= end; c += 2 * kWidth)
        convolve<Pixels, 2, Width, Stride>(a, spot, c, WholeLanes());
    for (; c < end; c += kWidth)
        convolve<Pixels, 1, Width, Stride>(a, spot, c + kWidth <= end ? c : end - kWidth,
                                           WholeLanes());
}

using SpotFunction = void (*)(const DepthwiseArgs&, const Spot&, Index begin, Index end);

template <int Pixels>
SpotFunction choose_kernel(const DepthwiseArgs& a) {
    if (a.kernel_width == 3 && a.stride == 1) return convolve_channels<Pixels, 3, 1>;
    if (a.kernel_width == 3 && a.stride == 2) return convolve_channels<Pixels, 3, 2>;
    return convolve_channels<Pixels, 0, 0>;
}

// Fewer channels than a register has lanes.
template <int Pixels>
void convolve_few(const DepthwiseArgs& a, const Spot& spot, Index begin, Index end) {
    convolve<Pixels, 1, 0, 0>(a, spot, begin, SomeLanes{end - begin});
}

template <int Pixels>
SpotFunction choose(const DepthwiseArgs& a) {
    return a.channels < kWidth ? convolve_few<Pixels> : choose_kernel<Pixels>(a);
}

class Strip {
public:
    explicit Strip(const DepthwiseArgs& args)
        : a_(args), ld_((args.out_width - 1) * args.stride + args.kernel_width) {}

    // Down the columns of spots: the rows that the next one reads as well are still in the
    // first-level cache.
    void run() {
        point();
        for (Index begin = 0, end; begin < a_.channels; begin = end) {
            end = a_.channels - begin < kChannels + kWidth ? a_.channels : begin + kChannels;
            Index x = 0;
            for (; x + kPixels <= a_.out_width; x += kPixels)
                run_column(x, begin, end, choose<kPixels>(a_));
            if (x < a_.out_width) run_column(x, begin, end, choose_rest(a_.out_width - x));
        }
        float* y = a_.out + a_.row_begin * a_.out_width * a_.channels;
        if (a_.activation != Epilogue::Activation::none)
            activate(a_.activation, y, (a_.row_end - a_.row_begin) * a_.out_width * a_.channels, y);
    }

private:
    void point() {
        const float** to = a_.pixels;
        const Index top = a_.row_begin * a_.stride - a_.padding;
        const Index rows = (a_.row_end - a_.row_begin - 1) * a_.stride + a_.kernel_height;
        for (Index y = top; y < top + rows; ++y)
            for (Index x = -a_.padding; x < ld_ - a_.padding; ++x) {
                const bool inside = y >= 0 && y < a_.height && x >= 0 && x < a_.width;
                *to++ = inside ? a_.image + (y * a_.width + x) * a_.channels : a_.zeros;
            }
    }

    SpotFunction choose_rest(Index pixels) const {
        return pixels == 1 ? choose<1>(a_) : pixels == 2 ? choose<2>(a_) : choose<3>(a_);
    }

    void run_column(Index x, Index begin, Index end, SpotFunction convolve_spot) const {
        for (Index row = a_.row_begin; row < a_.row_end; ++row)
            convolve_spot(a_,
                          {a_.pixels + (row - a_.row_begin) * a_.stride * ld_ + x * a_.stride, ld_,
                           a_.out + (row * a_.out_width + x) * a_.channels},
                          begin, end);
    }

    const DepthwiseArgs& a_;
    Index ld_;  // pointers of a row
};

}  // namespace

void depthwise(const DepthwiseArgs& args) { Strip(args).run(); }

}  // namespace cait::kernels::CAIT_KERNEL_ISA
