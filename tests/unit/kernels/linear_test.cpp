// Linear maps and batched products over all threads.
#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <utility>

#include "kernels/packed_matrix.h"
#include "kernels/train/linear_backward.h"
#include "support/all_formats.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

#if defined(__SANITIZE_THREAD__)
constexpr int kLinearThreads = 1;  // the sanitizer does not know OpenMP's barriers
#else
constexpr int kLinearThreads = 3;
#endif

TEST(LinearKernels, ForwardAndBackward) {
    for (const Index rows : {1, 2, 19, 300, 1025}) {
        SCOPED_TRACE(rows);
        const LinearShape shape{
            .rows = rows, .inputs = 21, .outputs = 50, .threads = kLinearThreads};
        const Floats x = random_floats(rows * 21, 1), weight = random_floats(50 * 21, 2),
                     bias = random_floats(50, 3), dy = random_floats(rows * 50, 4);
        Floats y(dy.size()), dx(x.size()), d_weight(weight.size()), d_bias(bias.size());
        Workspace workspace;
        PackedMatrix forward_weight, backward_weight;
        forward_weight.pack(forward_source(weight.data(), 50, 21), Format::f32, kLinearThreads);
        backward_weight.pack(backward_source(weight.data(), 50, 21), Format::f32, kLinearThreads);
        linear_forward(shape, x.data(), forward_weight.view(), bias.data(), y.data(), workspace);
        LinearShape transposed = shape;
        std::swap(transposed.inputs, transposed.outputs);
        linear_forward(transposed, dy.data(), backward_weight.view(), nullptr, dx.data(),
                       workspace);
        linear_weight_gradient(shape, x.data(), dy.data(), d_weight.data(), d_bias.data(),
                               workspace);
        Doubles wide_x = widen(x), wide_weight = widen(weight), wide_bias = widen(bias);
        const auto forward = [&] { return test::linear(wide_x, wide_weight, wide_bias, 21); };
        const Doubles expected = forward();
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 2e-5);
        const auto check = [&](Doubles& at, const Floats& gradient, const char* what) {
            const test::Slopes s = test::slopes(
                at, gradient, [&] { return test::dot(forward(), widen(dy)); }, 5);
            EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 1)) << what;
        };
        check(wide_x, dx, "x");
        check(wide_weight, d_weight, "weight");
        check(wide_bias, d_bias, "bias");
    }
}

TEST(LinearKernels, BatchedProductsInEveryOrientation) {
    const Index count = 5, m = 6, n = 19, k = 10;
    const Floats a = random_floats(count * m * k, 1), b = random_floats(count * k * n, 2);
    for (const Format format : test::float_formats())
        for (const bool a_across : {false, true})
            for (const bool b_across : {false, true}) {
                BatchedShape shape{.count = count, .m = m, .n = n, .k = k};
                shape.a_batch = m * k;
                shape.a_row = a_across ? 1 : k;
                shape.a_step = a_across ? m : 1;
                shape.b_batch = k * n;
                shape.b_row = b_across ? 1 : n;
                shape.b_step = b_across ? k : 1;
                shape.format = format;
                shape.threads = kLinearThreads;
                Floats c(std::size_t(count * m * n));
                Workspace workspace;
                batched_product(shape, a.data(), b.data(), c.data(), workspace);
                for (Index p = 0; p < count; ++p)
                    for (Index i = 0; i < m; ++i)
                        for (Index j = 0; j < n; ++j) {
                            double sum = 0;
                            for (Index l = 0; l < k; ++l)
                                sum += double(a[std::size_t(p * m * k + i * shape.a_row +
                                                            l * shape.a_step)]) *
                                       double(b[std::size_t(p * k * n + l * shape.b_row +
                                                            j * shape.b_step)]);
                            ASSERT_NEAR(c[std::size_t((p * m + i) * n + j)], sum,
                                        format == Format::bf16 ? 0.1 : 1e-5);
                        }
            }
}

// Few rows are cut over the columns, many over the rows: the same bits.
TEST(LinearKernels, DoNotDependOnTheNumberOfThreads) {
    const Index inputs = 70, outputs = 500;
    const Floats weight = random_floats(outputs * inputs, 2), bias = random_floats(outputs, 3);
    for (const Format format : test::all_formats())
        for (const Index rows : {1, 5, 40, 300}) {
            SCOPED_TRACE(rows);
            const Floats x = random_floats(rows * inputs, 1);
            Workspace workspace;
            PackedMatrix packed;
            packed.pack(forward_source(weight.data(), outputs, inputs), format, kLinearThreads);
            Floats one(std::size_t(rows * outputs)), many(one.size());
            LinearShape shape{.rows = rows, .inputs = inputs, .outputs = outputs, .format = format};
            linear_forward(shape, x.data(), packed.view(), bias.data(), one.data(), workspace);
            shape.threads = kLinearThreads;
            linear_forward(shape, x.data(), packed.view(), bias.data(), many.data(), workspace);
            EXPECT_EQ(one, many);
        }
}

TEST(LinearKernels, WeightGradientInBfloat16IsNear) {
    const LinearShape wide{.rows = 300, .inputs = 40, .outputs = 70, .threads = kLinearThreads};
    LinearShape narrow = wide;
    narrow.format = Format::bf16;
    const Floats x = random_floats(300 * 40, 1), dy = random_floats(300 * 70, 2);
    Floats expected(70 * 40), found(70 * 40);
    Workspace workspace;
    linear_weight_gradient(wide, x.data(), dy.data(), expected.data(), nullptr, workspace);
    linear_weight_gradient(narrow, x.data(), dy.data(), found.data(), nullptr, workspace);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.4);
}

}  // namespace
}  // namespace cait::kernels
