// Depth-wise convolution against plain sums, on every instruction set that this processor has.
#include "kernels/depthwise.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "kernels/windows.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

struct DepthwiseCase {
    Index height, width, channels, kernel_height, kernel_width, stride, padding;
};
const DepthwiseCase kDepthwiseCases[] = {
    {5, 7, 1, 3, 3, 1, 1},    {6, 6, 37, 3, 3, 1, 1},  {4, 1, 16, 3, 3, 1, 1},
    {9, 10, 70, 3, 3, 2, 1},  {11, 9, 24, 5, 5, 1, 2}, {3, 2, 33, 7, 7, 1, 3},
    {12, 13, 40, 2, 4, 3, 1}, {8, 8, 100, 4, 4, 4, 0}, {14, 14, 48, 3, 3, 1, 1},
    {30, 50, 20, 3, 3, 1, 1}, {5, 6, 19, 3, 3, 1, 0}};

Index out_height(const Depthwise& d) {
    return windows_along(d.height, d.kernel_height, d.stride, d.padding);
}
Index out_width(const Depthwise& d) {
    return windows_along(d.width, d.kernel_width, d.stride, d.padding);
}

struct DepthwiseExample {
    Depthwise d;
    Floats x, weight, ordered, bias;

    explicit DepthwiseExample(const DepthwiseCase& s, Index batch = 1)
        : d{.batch = batch, .height = s.height, .width = s.width, .channels = s.channels} {
        d.kernel_height = s.kernel_height;
        d.kernel_width = s.kernel_width;
        d.stride = s.stride;
        d.padding = s.padding;
        x = random_floats(batch * s.height * s.width * s.channels, 1);
        weight = random_floats(s.channels * s.kernel_height * s.kernel_width, 2);
        bias = random_floats(s.channels, 3);
        ordered.resize(weight.size());
        order_depthwise_weights(d, weight.data(), ordered.data());
        d.weight = ordered.data();
        d.bias = bias.data();
    }

    Index out_size() const { return d.batch * out_height(d) * out_width(d) * d.channels; }

    Floats run() const {
        Floats y(std::size_t(out_size()), 42.0F);
        Workspace workspace;
        depthwise_forward(d, x.data(), y.data(), workspace);
        return y;
    }

    Doubles expected() const {
        Doubles y;
        const Index area = d.kernel_height * d.kernel_width;
        test::for_windows(d.batch, out_height(d), out_width(d), [&](Index b, Index oy, Index ox) {
            for (Index c = 0; c < d.channels; ++c) {
                double sum = d.bias == nullptr ? 0 : double(bias[std::size_t(c)]);
                test::in_window(d, oy, ox, [&](Index iy, Index ix, Index ky, Index kx) {
                    const Index pixel = (b * d.height + iy) * d.width + ix;
                    sum += double(x[std::size_t(pixel * d.channels + c)]) *
                           double(weight[std::size_t(c * area + ky * d.kernel_width + kx)]);
                });
                y.push_back(test::activated(d.activation, sum));
            }
        });
        return y;
    }
};

void depthwise_expect_near(const Floats& found, const Doubles& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 2e-5) << "element " << i;
}

class DepthwiseKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(DepthwiseKernels, AreSumsOverWindows) {
    for (const DepthwiseCase& each : kDepthwiseCases)
        for (const bool with_bias : {false, true}) {
            SCOPED_TRACE(testing::Message() << each.height << "x" << each.width << "x"
                                            << each.channels << " kernel " << each.kernel_width);
            DepthwiseExample setup(each);
            Depthwise& d = setup.d;
            if (with_bias)
                d.activation = Epilogue::Activation::silu;
            else
                d.bias = nullptr;
            const Floats zeros(std::size_t(d.channels), 0.0F);
            std::vector<const float*> pixels(
                std::size_t((d.height + 2 * d.padding) * (d.width + 2 * d.padding)));
            Floats y(std::size_t(setup.out_size()), 42.0F);
            DepthwiseArgs args{.image = setup.x.data(), .height = d.height, .width = d.width};
            args.channels = d.channels;
            args.kernel_height = d.kernel_height;
            args.kernel_width = d.kernel_width;
            args.stride = d.stride;
            args.padding = d.padding;
            args.out_width = out_width(d);
            args.weight = d.weight;
            args.bias = d.bias;
            args.activation = d.activation;
            args.out = y.data();
            args.zeros = zeros.data();
            args.pixels = pixels.data();
            const Index rows = out_height(d), half = (rows + 1) / 2;
            for (const Index begin : {Index{0}, half}) {  // in two strips
                args.row_begin = begin;
                args.row_end = begin == 0 ? half : rows;
                if (args.row_begin < args.row_end) GetParam()->depthwise(args);
            }
            depthwise_expect_near(y, setup.expected());
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, DepthwiseKernels, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(DepthwiseForward, EndsInAnActivation) {
    using enum Epilogue::Activation;
    for (const auto kind : {none, gelu, relu, silu})
        for (const DepthwiseCase& each : kDepthwiseCases) {
            DepthwiseExample setup(each, 2);
            setup.d.activation = kind;
            depthwise_expect_near(setup.run(), setup.expected());
        }
}

TEST(DepthwiseForward, DoesNotDependOnThreadsOrBatch) {
    for (const DepthwiseCase& each : kDepthwiseCases) {
        DepthwiseExample all(each, 3), one(each, 1);
        test::expect_same_bits(all, one, [](DepthwiseExample& e) -> Depthwise& { return e.d; });
    }
}

}  // namespace
}  // namespace cait::kernels
