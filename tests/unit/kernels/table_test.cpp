// Every function of every table that this processor can run, at sizes that fill registers and at
// sizes that do not.
#include "kernels/table.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/dispatch.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;
using test::widen;

class Tables : public testing::TestWithParam<const KernelTable*> {
protected:
    const KernelTable& table_ = *GetParam();
};

void expect_near(const Floats& found, const Doubles& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

struct GemmCase {
    Index m, n, k;
    bool transposed, accumulate, bias;
};

void check_gemm(const KernelTable& table, const GemmCase& c) {
    SCOPED_TRACE(testing::Message()
                 << c.m << "x" << c.n << "x" << c.k << (c.transposed ? " T" : ""));
    const Floats a = random_floats(c.m * c.k, 1), b = random_floats(c.k * c.n, 2);
    const Floats bias = random_floats(c.n, 3), start = random_floats(c.m * c.n, 4);
    Floats packed(std::size_t(table.packed_size(c.k, c.n)) + 16), found = start;
    table.pack({.data = b.data(), .rows = c.k, .columns = c.n, .row_step = c.n}, packed.data());
    table.gemm({.m = c.m,
                .n = c.n,
                .k = c.k,
                .a = a.data(),
                .a_row = c.transposed ? 1 : c.k,
                .a_step = c.transposed ? c.m : 1,
                .packed = packed.data(),
                .c = found.data(),
                .c_ld = c.n,
                .accumulate = c.accumulate,
                .bias = c.bias ? bias.data() : nullptr});
    Doubles expected;
    for (Index i = 0; i < c.m; ++i)
        for (Index j = 0; j < c.n; ++j) {
            double sum = c.bias ? bias[std::size_t(j)] : 0;
            if (c.accumulate) sum = start[std::size_t(i * c.n + j)];
            for (Index k = 0; k < c.k; ++k)
                sum += double(a[std::size_t(c.transposed ? k * c.m + i : i * c.k + k)]) *
                       double(b[std::size_t(k * c.n + j)]);
            expected.push_back(sum);
        }
    expect_near(found, expected, 1e-6 * double(c.k + 10));
}

TEST_P(Tables, GemmOfAnySize) {
    for (const Index m : {1, 3, 4, 7, 8, 17})
        for (const Index n : {1, 5, 12, 16, 31, 48, 64, 97})
            for (const Index k : {1, 2, 48, 193, 401})
                check_gemm(table_, {m, n, k, false, false, true});
    for (const Index m : {2, 8, 13, 64})
        for (const Index n : {3, 24, 48, 50})
            for (const Index k : {1, 9, 256}) check_gemm(table_, {m, n, k, true, true, false});
}

TEST_P(Tables, GemmStaysInsideItsRows) {
    const Floats a = random_floats(5 * 7, 1), b = random_floats(7 * 11, 2);
    Floats packed(std::size_t(table_.packed_size(7, 11)) + 16), c(5 * 20, 42.0F);
    table_.pack({.data = b.data(), .rows = 7, .columns = 11, .row_step = 11}, packed.data());
    table_.gemm({.m = 5,
                 .n = 11,
                 .k = 7,
                 .a = a.data(),
                 .a_row = 7,
                 .packed = packed.data(),
                 .c = c.data(),
                 .c_ld = 20});
    for (std::size_t row = 0; row < 5; ++row)
        for (std::size_t column = 11; column < 20; ++column) EXPECT_EQ(c[row * 20 + column], 42.0F);
}

TEST_P(Tables, PackingScalesTransposesAndRounds) {
    const Index rows = 6, columns = 53;
    const Floats source = random_floats(rows * columns, 1), scales = random_floats(rows, 2);
    Floats packed(std::size_t(table_.packed_size(rows, columns)) + 16), row(1), found(53);
    table_.pack({.data = source.data(),
                 .rows = rows,
                 .columns = columns,
                 .row_step = 1,
                 .column_step = rows,
                 .scale = 2,
                 .row_scale = scales.data(),
                 .bfloat16 = true},
                packed.data());
    // A row of the identity picks one row of what was packed.
    for (Index r = 0; r < rows; ++r) {
        Floats unit(std::size_t(rows), 0.0F);
        unit[std::size_t(r)] = 1;
        table_.gemm({.m = 1,
                     .n = columns,
                     .k = rows,
                     .a = unit.data(),
                     .a_row = rows,
                     .packed = packed.data(),
                     .c = found.data(),
                     .c_ld = columns});
        for (Index c = 0; c < columns; ++c) {
            const double exact =
                2.0 * double(scales[std::size_t(r)]) * double(source[std::size_t(c * rows + r)]);
            EXPECT_NEAR(found[std::size_t(c)], exact, std::abs(exact) / 256);
            std::uint16_t narrow = 0;
            float wide = 0;
            table_.to_bfloat16(&found[std::size_t(c)], 1, &narrow);
            table_.from_bfloat16(&narrow, 1, &wide);
            EXPECT_EQ(found[std::size_t(c)], wide);
        }
    }
}

TEST_P(Tables, LayerNorm) {
    for (const Index dim : {1, 3, 16, 24, 37, 192}) {
        SCOPED_TRACE(dim);
        const Floats x = random_floats(3 * dim, 1, 2), weight = random_floats(dim, 2),
                     bias = random_floats(dim, 3), dy = random_floats(3 * dim, 4),
                     residual = random_floats(3 * dim, 5);
        Floats y(x.size()), dx(x.size()), d_weight(weight.size(), 1.0F),
            d_bias(weight.size(), 1.0F);
        table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-3F, 3, dim, y.data(), false);
        Doubles wide_x = widen(x), wide_weight = widen(weight), wide_bias = widen(bias);
        const auto forward = [&] {
            return test::layer_norm(wide_x, wide_weight, wide_bias, double(1e-3F));
        };
        expect_near(y, forward(), 1e-5);
        table_.layer_norm_backward(x.data(), weight.data(), 1e-3F, dy.data(), residual.data(), 3,
                                   dim, dx.data(), d_weight.data(), d_bias.data());
        for (std::size_t i = 0; i < dx.size(); ++i) dx[i] -= residual[i];
        for (std::size_t i = 0; i < weight.size(); ++i) {
            d_weight[i] -= 1;  // what was there is added to
            d_bias[i] -= 1;
        }
        const auto loss = [&] { return test::dot(forward(), widen(dy)); };
        const auto check = [&](Doubles& at, const Floats& gradient, const char* what) {
            const test::Slopes s = test::slopes(at, gradient, loss, 9);
            EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 1)) << what;
        };
        check(wide_x, dx, "x");
        check(wide_weight, d_weight, "weight");
        check(wide_bias, d_bias, "bias");
    }
}

TEST_P(Tables, GeluWithinAMillionth) {
    Floats x;
    for (double v = -12; v <= 12; v += 0.0137) x.push_back(float(v));
    x.insert(x.end(), {0.0F, -0.0F, 1e-30F, -1e-30F, 1e4F, -1e4F});
    const Floats dy(x.size(), 1.0F);
    Floats y(x.size()), again(x.size()), dx(x.size());
    const Index count = Index(x.size());
    table_.gelu(x.data(), count, y.data(), false);
    table_.gelu_backward(x.data(), dy.data(), count, again.data(), dx.data(), false);
    const Doubles expected = test::gelu(widen(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = x[i], tolerance = 1e-6 * std::max(1.0, std::abs(v));
        EXPECT_NEAR(y[i], expected[i], tolerance) << v;
        EXPECT_EQ(y[i], again[i]) << v;
        const double slope =
            0.5 * std::erfc(-v / std::sqrt(2.0)) + v * std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
        EXPECT_NEAR(dx[i], slope, 1e-6) << v;
    }
}

TEST_P(Tables, SoftmaxAndItsGradient) {
    for (const Index columns : {1, 5, 16, 33, 64}) {
        SCOPED_TRACE(columns);
        Floats x = random_floats(4 * columns, 1, 5);
        x[0] = 300;  // no overflow
        Doubles wide = widen(x);
        for (double& v : wide) v -= 300;
        const auto forward = [&] {
            Doubles y = wide;
            for (std::size_t row = 0; row < 4; ++row)
                test::softmax(
                    std::span(y).subspan(row * std::size_t(columns), std::size_t(columns)));
            return y;
        };
        for (std::size_t i = std::size_t(columns); i < wide.size(); ++i) wide[i] += 300;
        table_.softmax(x.data(), 4, columns);
        expect_near(x, forward(), 1e-6);
        const Floats dy = random_floats(4 * columns, 2);
        Floats dx = dy;
        table_.softmax_backward(x.data(), dx.data(), 4, columns);
        const test::Slopes s = test::slopes(
            wide, dx, [&] { return test::dot(forward(), widen(dy)); }, 3);
        EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 1));
    }
}

TEST_P(Tables, MixingOfHeads) {
    for (const Index heads : {1, 3, 4, 6})
        for (const Index count : {1, 16, 35}) {
            SCOPED_TRACE(testing::Message() << heads << " heads of " << count);
            const Index step = count + 5;
            const Floats maps = random_floats(heads * step, 1),
                         weight = random_floats(heads * heads, 2), bias = random_floats(heads, 3),
                         d_mixed = random_floats(heads * step, 4);
            Floats mixed(maps.size(), 7.0F), d_maps(maps.size()), d_weight(weight.size()),
                d_bias(bias.size());
            MixArgs args{heads, count, step, weight.data(), bias.data(), false};
            table_.mix_heads(args, maps.data(), mixed.data());
            table_.mix_heads_backward(args, maps.data(), d_mixed.data(), d_weight.data(),
                                      d_bias.data());
            args.transposed = true;
            args.bias = nullptr;
            table_.mix_heads(args, d_mixed.data(), d_maps.data());
            for (Index h = 0; h < heads; ++h) {
                double sum = 0;
                for (Index i = 0; i < count; ++i) {
                    double value = bias[std::size_t(h)], gradient = 0;
                    for (Index g = 0; g < heads; ++g) {
                        value += double(weight[std::size_t(h * heads + g)]) *
                                 double(maps[std::size_t(g * step + i)]);
                        gradient += double(weight[std::size_t(g * heads + h)]) *
                                    double(d_mixed[std::size_t(g * step + i)]);
                    }
                    EXPECT_NEAR(mixed[std::size_t(h * step + i)], value, 1e-5);
                    EXPECT_NEAR(d_maps[std::size_t(h * step + i)], gradient, 1e-5);
                    sum += double(d_mixed[std::size_t(h * step + i)]);
                }
                EXPECT_NEAR(d_bias[std::size_t(h)], sum, 1e-4);
                EXPECT_EQ(mixed[std::size_t(h * step + count)], 7.0F);  // the gap between maps
                for (Index g = 0; g < heads; ++g) {
                    double product = 0;
                    for (Index i = 0; i < count; ++i)
                        product += double(d_mixed[std::size_t(h * step + i)]) *
                                   double(maps[std::size_t(g * step + i)]);
                    EXPECT_NEAR(d_weight[std::size_t(h * heads + g)], product, 1e-4);
                }
            }
        }
}

TEST_P(Tables, ResidualAndItsGradient) {
    for (const Index dim : {1, 19, 64}) {
        const Floats x = random_floats(2 * dim, 1), branch = random_floats(2 * dim, 2),
                     scale = random_floats(dim, 3), dy = random_floats(2 * dim, 4);
        Floats y(x.size()), plain(x.size()), d_branch(x.size()), d_scale(scale.size(), 1.0F);
        table_.residual(x.data(), branch.data(), scale.data(), 1.25F, 2, dim, y.data());
        table_.residual(x.data(), branch.data(), nullptr, 0.5F, 2, dim, plain.data());
        table_.residual_backward(dy.data(), branch.data(), scale.data(), 1.25F, 2, dim,
                                 d_branch.data(), d_scale.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::size_t c = i % std::size_t(dim);
            EXPECT_NEAR(y[i], x[i] + 1.25F * scale[c] * branch[i], 1e-5);
            EXPECT_NEAR(plain[i], x[i] + 0.5F * branch[i], 1e-5);
            EXPECT_NEAR(d_branch[i], 1.25F * scale[c] * dy[i], 1e-5);
            d_scale[c] -= 1.25F * dy[i] * branch[i];
        }
        for (const float rest : d_scale) EXPECT_NEAR(rest, 1, 1e-5);
    }
}

TEST_P(Tables, SumsAndScaling) {
    const Floats x = random_floats(7 * 101, 1);
    Floats sums(90, 1.0F), y = random_floats(101, 2), scaled(101), away(104, 9.0F);
    const Floats start = y;
    table_.add_columns(x.data(), 7, 90, 101, sums.data());
    table_.add(x.data(), 101, y.data());
    table_.scale(x.data(), -3, 101, scaled.data(), false);
    table_.put_away(x.data(), 101, away.data() + 1);  // not at the start of a cache line
    EXPECT_EQ(away[0], 9.0F);
    EXPECT_EQ(away[102], 9.0F);
    for (std::size_t c = 0; c < 90; ++c) {
        double sum = 1;
        for (std::size_t r = 0; r < 7; ++r) sum += double(x[r * 101 + c]);
        EXPECT_NEAR(sums[c], sum, 1e-5);
    }
    for (std::size_t i = 0; i < 101; ++i) {
        EXPECT_EQ(y[i], start[i] + x[i]);
        EXPECT_EQ(scaled[i], -3 * x[i]);
        EXPECT_EQ(away[i + 1], x[i]);
    }
}

TEST_P(Tables, Bfloat16RoundsToNearestEven) {
    const float infinity = std::numeric_limits<float>::infinity();
    const Floats x = {1.0F,      1.00390625F, 1.01171875F, -2.5F, infinity,
                      -infinity, NAN,         0.0F,        3e-39F};
    std::vector<std::uint16_t> narrow(x.size());
    Floats wide(x.size()), rounded(x.size());
    table_.to_bfloat16(x.data(), Index(x.size()), narrow.data());
    table_.from_bfloat16(narrow.data(), Index(x.size()), wide.data());
    table_.scale(x.data(), 1, Index(x.size()), rounded.data(), true);
    const Floats expected = {1.0F, 1.0F, 1.015625F, -2.5F, infinity, -infinity, NAN, 0.0F, 3e-39F};
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(expected[i])) {
            EXPECT_TRUE(std::isnan(wide[i]) && std::isnan(rounded[i]));
            continue;
        }
        if (std::abs(expected[i]) > 1e-30F)
            EXPECT_EQ(wide[i], expected[i]) << i;
        else
            EXPECT_NEAR(wide[i], expected[i], 1e-40) << i;  // below the normal numbers
        EXPECT_EQ(rounded[i], wide[i]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Tables, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace cait::kernels
