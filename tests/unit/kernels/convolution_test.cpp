// Convolutions against plain sums: both layouts, borders, strides, groups, epilogues.
#include "kernels/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/packed_matrix.h"
#include "support/all_formats.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

struct ConvolutionCase {
    Index height, width, channels, outputs, kernel_height, kernel_width, stride, padding, groups;
};
const ConvolutionCase kConvolutionCases[] = {
    {5, 7, 3, 4, 3, 3, 1, 1, 1},
    {9, 9, 5, 21, 3, 3, 2, 1, 1},
    {6, 1, 8, 16, 3, 1, 1, 1, 1},
    {3, 2, 4, 6, 5, 5, 1, 2, 1},
    {12, 12, 3, 10, 4, 4, 4, 0, 1},
    {17, 16, 3, 33, 7, 7, 2, 3, 1},
    {10, 11, 12, 18, 3, 3, 3, 1, 3},
    {8, 8, 37, 50, 1, 1, 1, 0, 1},
    {8, 8, 16, 24, 1, 1, 2, 0, 1},
    {7, 6, 20, 40, 1, 1, 1, 0, 4},
    {4, 4, 70, 200, 3, 3, 1, 1, 1},
    {16, 16, 6, 8, 2, 5, 1, 0, 2},
    // Whose weights are large: in slices of k.
    {5, 4, 96, 320, 3, 3, 1, 1, 1},
    {5, 5, 64, 200, 5, 5, 2, 2, 1},
    {4, 3, 1100, 260, 1, 1, 1, 0, 1},
    {4, 4, 600, 450, 1, 1, 2, 0, 1},
    {3, 3, 192, 640, 3, 3, 1, 1, 2},
};

// A convolution with all that it points at.
struct ConvolutionExample {
    Convolution c;
    Floats x, weight, bias, residual;
    std::vector<PackedMatrix> packed;
    std::vector<PackedView> views;

    ConvolutionExample(const ConvolutionCase& s, bool planes, Index batch, Format format,
                       Index gap = 0)
        : c{.batch = batch, .height = s.height, .width = s.width, .channels = s.channels} {
        c.outputs = s.outputs;
        c.kernel_height = s.kernel_height;
        c.kernel_width = s.kernel_width;
        c.stride = s.stride;
        c.padding = s.padding;
        c.groups = s.groups;
        c.column_step = planes ? 1 : s.channels + gap;
        c.row_step = s.width * c.column_step + gap;
        c.channel_step = planes ? s.height * c.row_step : 1;
        c.image_step = (planes ? s.channels * c.channel_step : s.height * c.row_step) + gap;
        c.format = format;
        x = random_floats(c.batch * c.image_step, 1);
        weight = random_floats(c.outputs * convolution_k(c), 2, 0.3);
        bias = random_floats(c.outputs, 3);
        residual = random_floats(out_size(), 4);
        Floats ordered(weight.size());
        order_weights(c, weight.data(), ordered.data());
        const Index outputs = c.outputs / c.groups, k = convolution_k(c);
        packed.resize(std::size_t(c.groups));
        for (Index g = 0; g < c.groups; ++g) {
            PackedMatrix& matrix = packed[std::size_t(g)];
            matrix.pack(forward_source(ordered.data() + g * outputs * k, outputs, k), format);
            views.push_back(matrix.view());
        }
        c.weights = views;
        c.bias = bias.data();
    }

    Index out_size() const { return c.batch * c.out_height() * c.out_width() * c.outputs; }

    Floats run() const {
        Floats y(std::size_t(out_size()), 42.0F);
        Workspace workspace;
        convolution_forward(c, x.data(), y.data(), workspace);
        return y;
    }

    Doubles sums() const {
        Doubles y;
        const Index inputs = c.channels / c.groups;
        test::for_windows(c.batch, c.out_height(), c.out_width(), [&](Index b, Index oy, Index ox) {
            for (Index o = 0; o < c.outputs; ++o) {
                double sum = double(bias[std::size_t(o)]);
                const Index first = o / (c.outputs / c.groups) * inputs;
                test::in_window(c, oy, ox, [&](Index iy, Index ix, Index ky, Index kx) {
                    for (Index i = 0; i < inputs; ++i)
                        sum +=
                            double(
                                x[std::size_t(b * c.image_step + iy * c.row_step +
                                              ix * c.column_step + (first + i) * c.channel_step)]) *
                            double(weight[std::size_t(
                                ((o * inputs + i) * c.kernel_height + ky) * c.kernel_width + kx)]);
                });
                y.push_back(sum);
            }
        });
        return y;
    }
};

void convolution_expect_near(const Floats& found, const Doubles& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

TEST(ConvolutionKernels, AreSumsOverWindowsInBothLayoutsAndFormats) {
    for (const ConvolutionCase& each : kConvolutionCases)
        for (const bool planes : {false, true})
            for (const Format format : test::float_formats())
                for (const Index gap : {0, 3}) {
                    SCOPED_TRACE(testing::Message()
                                 << each.height << "x" << each.width << "x" << each.channels
                                 << " -> " << each.outputs << (planes ? " planes" : "") << " gap "
                                 << gap << " format " << int(format));
                    const ConvolutionExample setup(each, planes, 2, format, gap);
                    const double size = std::sqrt(double(convolution_k(setup.c)));
                    convolution_expect_near(setup.run(), setup.sums(),
                                            size * (format == Format::f32 ? 2e-6 : 2e-2));
                }
}

TEST(ConvolutionKernels, EndInAnActivationAndAResidual) {
    ConvolutionExample setup({9, 8, 10, 35, 3, 3, 1, 1, 1}, false, 2, Format::f32);
    const Doubles sums = setup.sums();
    using enum Epilogue::Activation;
    for (const auto kind : {none, gelu, relu, silu})
        for (const bool with_residual : {false, true})
            for (const bool relu_last : {false, true}) {
                setup.c.activation = kind;
                setup.c.residual = with_residual ? setup.residual.data() : nullptr;
                setup.c.relu_last = relu_last;
                Doubles expected;
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    double v = test::activated(kind, sums[i]);
                    if (with_residual) v += double(setup.residual[i]);
                    expected.push_back(with_residual && relu_last ? std::max(0.0, v) : v);
                }
                convolution_expect_near(setup.run(), expected, 2e-5);
            }
}

// Neither threads nor the batch change a bit, however few pixels there are.
TEST(ConvolutionKernels, DoNotDependOnThreadsOrBatch) {
    for (const ConvolutionCase& each : {ConvolutionCase{14, 14, 24, 50, 3, 3, 1, 1, 1},
                                        ConvolutionCase{2, 2, 40, 300, 3, 3, 1, 1, 1},
                                        ConvolutionCase{3, 3, 30, 60, 3, 3, 1, 1, 5},
                                        ConvolutionCase{30, 31, 3, 20, 7, 7, 2, 3, 1},
                                        ConvolutionCase{20, 20, 40, 20, 1, 1, 1, 0, 1},
                                        ConvolutionCase{5, 6, 96, 320, 3, 3, 1, 1, 1},
                                        ConvolutionCase{12, 12, 1100, 260, 1, 1, 1, 0, 1}}) {
        SCOPED_TRACE(each.height);
        for (const Format format : {Format::f32, Format::s8}) {
            if (format == Format::s8 && each.groups > 1) continue;
            ConvolutionExample all(each, false, 3, format), one(each, false, 1, format);
            test::expect_same_bits(all, one,
                                   [](ConvolutionExample& e) -> Convolution& { return e.c; });
        }
    }
}

double root_mean_square_error(const Floats& found, const Doubles& expected) {
    double sum = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        sum += std::pow(double(found[i]) - expected[i], 2);
    return std::sqrt(sum / double(found.size()));
}

// Steps of 1/127 of the greatest value of an image, of 1/255 where no value is negative.
TEST(ConvolutionKernels, Int8IsNearAndNearerWithoutNegativeValues) {
    for (const ConvolutionCase& each : kConvolutionCases) {
        if (each.groups > 1) continue;
        SCOPED_TRACE(testing::Message() << each.height << "x" << each.width << "x" << each.channels
                                        << " -> " << each.outputs);
        ConvolutionExample example(each, false, 2, Format::s8);
        const double size = std::sqrt(double(convolution_k(example.c)));
        convolution_expect_near(example.run(), example.sums(), size * 4e-2);
        for (float& value : example.x) value = std::abs(value);
        const Doubles expected = example.sums();
        const double with_sign = root_mean_square_error(example.run(), expected);
        example.c.nonnegative = true;
        const double without = root_mean_square_error(example.run(), expected);
        EXPECT_LT(without, 0.9 * with_sign);
        EXPECT_GT(without, 0.2 * with_sign);
    }
}

TEST(ConvolutionKernels, Int8ShowsWhatIsNotFiniteInItsImageOnly) {
    ConvolutionExample example({6, 6, 40, 48, 3, 3, 1, 1, 1}, false, 3, Format::s8);
    example.x[std::size_t(example.c.image_step + 7)] = std::numeric_limits<float>::infinity();
    std::fill_n(example.x.begin() + 2 * example.c.image_step, example.c.image_step, 0.0F);
    for (const int threads : {1, 5}) {
        example.c.threads = threads;
        const Floats y = example.run();
        const std::size_t each = y.size() / 3;
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(std::isnan(y[i]), i / each == 1) << i;
        for (std::size_t i = 2 * each; i < y.size(); ++i)  // of zeros
            ASSERT_EQ(y[i], example.bias[i % 48]);
    }
}

}  // namespace
}  // namespace cait::kernels
