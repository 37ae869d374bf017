// Resized maps against plain loops.
#include "kernels/resizing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/dispatch.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

struct ResizeCase {
    Index height, width, channels, out_height, out_width;
};
const ResizeCase kResizeCases[] = {{4, 4, 5, 8, 8},    {7, 9, 70, 3, 4},  {1, 1, 33, 6, 5},
                                   {9, 7, 130, 13, 7}, {2, 3, 16, 1, 11}, {5, 8, 37, 5, 8}};

// For every pixel of a result with its two neighbours of the source and the share of the second.
double value_at(const ResizeCase& s, const Floats& x, bool bilinear, Index row, Index column,
                Index c) {
    const auto pixel = [&](Index iy, Index ix) {
        return double(x[std::size_t((iy * s.width + ix) * s.channels + c)]);
    };
    const auto scaled = [](Index at, Index from, Index to) {
        return double(from) / double(to) * double(at);
    };
    if (!bilinear)
        return pixel(Index(scaled(row, s.height, s.out_height) + 1e-9),
                     Index(scaled(column, s.width, s.out_width) + 1e-9));
    const auto split = [](Index at, Index from, Index to) {
        const double place = std::max(0.0, double(from) / double(to) * (double(at) + 0.5) - 0.5);
        const Index low = std::min(Index(std::floor(place)), from - 1);
        return std::tuple(low, std::min(low + 1, from - 1), place - double(low));
    };
    const auto [top, bottom, down] = split(row, s.height, s.out_height);
    const auto [left, right, across] = split(column, s.width, s.out_width);
    return (pixel(top, left) * (1 - across) + pixel(top, right) * across) * (1 - down) +
           (pixel(bottom, left) * (1 - across) + pixel(bottom, right) * across) * down;
}

class ResizeKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(ResizeKernels, InterpolateBetweenTheCentresOfPixels) {
    for (const ResizeCase& s : kResizeCases)
        for (const bool bilinear : {true, false}) {
            SCOPED_TRACE(testing::Message() << s.height << "x" << s.width << " to " << s.out_height
                                            << "x" << s.out_width);
            const Floats x = random_floats(s.height * s.width * s.channels, 1);
            const Index step = s.channels + 3;
            Floats y(std::size_t(s.out_height * s.out_width * step), 42.0F);
            GetParam()->resize({.image = x.data(),
                                .height = s.height,
                                .width = s.width,
                                .channels = s.channels,
                                .bilinear = bilinear,
                                .row_begin = 0,
                                .row_end = s.out_height,
                                .out_height = s.out_height,
                                .out_width = s.out_width,
                                .out_step = step,
                                .out = y.data()});
            for (Index row = 0; row < s.out_height; ++row)
                for (Index column = 0; column < s.out_width; ++column) {
                    const float* pixel = y.data() + (row * s.out_width + column) * step;
                    for (Index c = 0; c < s.channels; ++c)
                        ASSERT_NEAR(pixel[c], value_at(s, x, bilinear, row, column, c), 3e-6);
                    for (Index c = s.channels; c < step; ++c) ASSERT_EQ(pixel[c], 42.0F);
                }
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ResizeKernels, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(ResizeForward, IsTheSameForAnyThreadsAndBatch) {
    Resizing r{.batch = 3, .height = 5, .width = 4, .channels = 19};
    r.out_height = 13;
    r.out_width = 9;
    const Floats x = random_floats(r.batch * r.height * r.width * r.channels, 1);
    Floats first;
    for (const int threads : test::kThreadCounts) {
        r.threads = threads;
        Floats y(std::size_t(r.batch * r.out_height * r.out_width * r.channels));
        resize_forward(r, x.data(), y.data());
        if (first.empty()) first = y;
        EXPECT_EQ(y, first);
    }
    r.batch = 1;
    Floats alone(first.size() / 3);
    resize_forward(r, x.data(), alone.data());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), first.begin()));
}

}  // namespace
}  // namespace cait::kernels
