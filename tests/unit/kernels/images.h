// Plain loops over the windows of images, for the tests of convolutions and pooling.
#pragma once

#include "kernels/product.h"
#include "unit/kernels/reference.h"

namespace cait::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr int kThreadCounts[] = {1};  // the sanitizer does not know OpenMP's barriers
#else
inline constexpr int kThreadCounts[] = {1, 2, 3};
#endif

// Calls visit(image, row, column) for all output pixels in their order.
template <class Visit>
void for_windows(std::int64_t batch, std::int64_t height, std::int64_t width, const Visit& visit) {
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) visit(b, y, x);
}

// Calls visit(y, x, ky, kx) for every pixel of the window at (row, column) that lies in the image.
template <class Shape, class Visit>
void in_window(const Shape& s, std::int64_t row, std::int64_t column, const Visit& visit) {
    for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
        for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
            const std::int64_t y = row * s.stride + ky - s.padding;
            const std::int64_t x = column * s.stride + kx - s.padding;
            if (y >= 0 && y < s.height && x >= 0 && x < s.width) visit(y, x, ky, kx);
        }
}

// `all` and `one` are the same example with three images and with the first of them alone; their
// kernels' options are `options(example)`.
template <class Example, class Options>
void expect_same_bits(Example& all, Example& one, const Options& options) {
    const Floats expected = all.run(), alone = one.run();
    EXPECT_EQ(alone, Floats(expected.begin(), expected.begin() + one.out_size()));
    for (const int threads : kThreadCounts) {
        options(all).threads = options(one).threads = threads;
        EXPECT_EQ(all.run(), expected) << threads;
        EXPECT_EQ(one.run(), alone) << threads;
    }
}

inline double activated(kernels::Epilogue::Activation kind, double x) {
    using enum kernels::Epilogue::Activation;
    switch (kind) {
        case gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
        case relu: return std::max(0.0, x);
        case silu: return x / (1 + std::exp(-x));
        case sigmoid: return 1 / (1 + std::exp(-x));
        default: return x;
    }
}

}  // namespace cait::test
