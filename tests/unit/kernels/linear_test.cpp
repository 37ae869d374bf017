// Linear maps and batched products over all threads, and products of bfloat16 through oneDNN.
#include "kernels/linear.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "kernels/onednn.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

#if defined(__SANITIZE_THREAD__)
constexpr int kThreads = 1;  // the sanitizer does not know OpenMP's barriers
#else
constexpr int kThreads = 3;
#endif

TEST(LinearKernels, ForwardAndBackward) {
    for (const Index rows : {1, 2, 19, 300, 1025}) {
        SCOPED_TRACE(rows);
        const LinearShape shape{.rows = rows, .inputs = 21, .outputs = 50, .threads = kThreads};
        const Floats x = random_floats(rows * 21, 1), weight = random_floats(50 * 21, 2),
                     bias = random_floats(50, 3), dy = random_floats(rows * 50, 4);
        Floats y(dy.size()), dx(x.size()), d_weight(weight.size()), d_bias(bias.size());
        linear_forward(shape, x.data(), weight.data(), bias.data(), y.data());
        linear_backward(shape, x.data(), weight.data(), dy.data(), dx.data(), d_weight.data(),
                        d_bias.data());
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
    for (const bool bfloat16 : {false, true})
        for (const bool a_across : {false, true})
            for (const bool b_across : {false, true}) {
                ProductShape shape{.count = count, .m = m, .n = n, .k = k};
                shape.a_batch = m * k;
                shape.a_row = a_across ? 1 : k;
                shape.a_step = a_across ? m : 1;
                shape.b_batch = k * n;
                shape.b_row = b_across ? 1 : n;
                shape.b_step = b_across ? k : 1;
                shape.bfloat16 = bfloat16;
                shape.threads = kThreads;
                Floats c(std::size_t(count * m * n));
                batched_product(shape, a.data(), b.data(), c.data());
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
                                        bfloat16 ? 0.1 : 1e-5);
                        }
            }
}

// oneDNN gives what rounding to bfloat16 and multiplying floats gives, on any processor: where
// there is no bfloat16 multiplier it emulates one.
TEST(OneDnn, EqualsProductsOfRoundedFloats) {
    const KernelTable& table = best_kernels();
    for (const bool transposed : {false, true})
        for (const bool accumulate : {false, true}) {
            const Index m = 37, n = 51, k = 70;
            const Floats a = random_floats(m * k, 1), b = random_floats(k * n, 2),
                         bias = random_floats(n, 3), scales = random_floats(k, 4),
                         start = random_floats(m * n, 5);
            Floats rounded(a.size());
            table.scale(a.data(), 1, Index(a.size()), rounded.data(), true);
            const PackSource source{.data = b.data(),
                                    .rows = k,
                                    .columns = n,
                                    .row_step = n,
                                    .scale = 0.5F,
                                    .row_scale = scales.data(),
                                    .bfloat16 = true};
            Floats ours(start), theirs(start), packed(std::size_t(table.packed_size(k, n)) + 16),
                narrow(std::size_t(onednn_packed_size(k, n)));
            table.pack(source, packed.data());
            onednn_pack(source, narrow.data());
            GemmArgs args{.m = m, .n = n, .k = k};
            args.a = rounded.data();
            args.a_row = transposed ? 1 : k;
            args.a_step = transposed ? m : 1;
            args.c_ld = n;
            args.accumulate = accumulate;
            args.bias = accumulate ? nullptr : bias.data();
            args.packed = packed.data();
            args.c = ours.data();
            table.gemm(args);
            args.packed = narrow.data();
            args.c = theirs.data();
            onednn_gemm(args);
            for (std::size_t i = 0; i < ours.size(); ++i)
                ASSERT_NEAR(theirs[i], ours[i], 2e-5) << (transposed ? "transposed " : "") << i;
        }
}

}  // namespace
}  // namespace cait::kernels
