// Every function of every table that this processor can run, at sizes that fill registers and at
// sizes that do not.
#include "kernels/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/dispatch.h"
#include "unit/kernels/images.h"

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

void table_expect_near(const Floats& found, const Doubles& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

TEST_P(Tables, LayerNorm) {
    for (const Index dim : {1, 3, 16, 24, 37, 192}) {
        SCOPED_TRACE(dim);
        const Floats x = random_floats(3 * dim, 1, 2), weight = random_floats(dim, 2),
                     bias = random_floats(dim, 3), dy = random_floats(3 * dim, 4),
                     residual = random_floats(3 * dim, 5);
        Floats y(x.size()), dx(x.size()), d_weight(weight.size(), 1.0F),
            d_bias(weight.size(), 1.0F);
        table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-3F, 3, dim,
                          rows_of(y.data(), dim));
        Doubles wide_x = widen(x), wide_weight = widen(weight), wide_bias = widen(bias);
        const auto forward = [&] {
            return test::layer_norm(wide_x, wide_weight, wide_bias, double(1e-3F));
        };
        table_expect_near(y, forward(), 1e-5);
        table_.train.layer_norm(x.data(), weight.data(), 1e-3F, dy.data(), residual.data(), 3, dim,
                                dx.data(), d_weight.data(), d_bias.data());
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
    Floats y(x.size()), dx(x.size());
    const Index count = Index(x.size());
    table_.activate(Epilogue::Activation::gelu, x.data(), count, y.data());
    table_.train.gelu(x.data(), dy.data(), count, dx.data());
    const Doubles expected = test::gelu(widen(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = x[i], tolerance = 1e-6 * std::max(1.0, std::abs(v));
        EXPECT_NEAR(y[i], expected[i], tolerance) << v;
        const double slope =
            0.5 * std::erfc(-v / std::sqrt(2.0)) + v * std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
        EXPECT_NEAR(dx[i], slope, 1e-6) << v;
        if (std::abs(v) > 6) {  // not a little of a large x
            EXPECT_EQ(y[i], v > 0 ? x[i] : 0) << v;
        }
    }
}

TEST_P(Tables, ActivationsWithinAMillionth) {
    Floats x;
    for (double v = -30; v <= 30; v += 0.0137) x.push_back(float(v));
    x.insert(x.end(), {0.0F, -0.0F, 1e-30F, -1e-30F, 1e4F, -1e4F});
    using enum Epilogue::Activation;
    for (const auto kind : {none, relu, silu, sigmoid}) {
        Floats y = x;
        table_.activate(kind, y.data(), Index(y.size()), y.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double v = x[i];
            EXPECT_NEAR(y[i], test::activated(kind, v), 1e-6 * std::max(1.0, std::abs(v))) << v;
        }
    }
    float missing = NAN;  // a NaN is not hidden
    table_.activate(relu, &missing, 1, &missing);
    EXPECT_TRUE(std::isnan(missing));
}

TEST_P(Tables, ScaleAndShiftOfColumns) {
    for (const Index columns : {1, 19, 64}) {
        const Floats x = random_floats(3 * columns, 1), scale = random_floats(columns, 2),
                     shift = random_floats(columns, 3);
        for (const bool scaled : {false, true})
            for (const bool shifted : {false, true}) {
                Floats y(x.size());
                table_.multiply_add(x.data(), scaled ? scale.data() : nullptr,
                                    shifted ? shift.data() : nullptr, 3, columns, y.data());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const std::size_t c = i % std::size_t(columns);
                    EXPECT_NEAR(y[i], x[i] * (scaled ? scale[c] : 1) + (shifted ? shift[c] : 0),
                                1e-6);
                }
            }
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
        Floats shorter = x;
        table_.softmax(x.data(), 4, columns, columns, Format::f32);
        table_expect_near(x, forward(), 1e-6);
        table_.softmax(shorter.data(), 4, columns, columns, Format::bf16);
        table_expect_near(shorter, forward(), 1e-4);
        Floats missing(std::size_t(columns), 1.0F);  // a NaN is not hidden
        missing.back() = NAN;
        table_.softmax(missing.data(), 1, columns, columns, Format::f32);
        EXPECT_TRUE(std::ranges::all_of(missing, [](float v) { return std::isnan(v); }));
        const Floats dy = random_floats(4 * columns, 2);
        Floats dx = dy;
        table_.train.softmax(x.data(), dx.data(), 4, columns, columns);
        const test::Slopes s = test::slopes(
            wide, dx, [&] { return test::dot(forward(), widen(dy)); }, 3);
        EXPECT_NEAR(s.by_gradient, s.by_difference, 1e-5 * (s.size + 1));
    }
}

TEST_P(Tables, MixingOfHeads) {
    for (const Index heads : {1, 2, 3, 4, 6, 8, 12, 16})
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
            table_.train.mix_heads(args, maps.data(), d_mixed.data(), d_weight.data(),
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

TEST_P(Tables, RowsTimesRows) {
    const auto at = [](const Floats& x, Index i) { return double(x[std::size_t(i)]); };
    for (const Index m : {1, 2, 3, 4, 7})
        for (const Index columns : {1, 5, 16, 37, 64, 150}) {
            const Index count = 9, ld = columns + 3, left_ld = std::max(columns, count) + 2;
            const Floats left = random_floats(m * left_ld, 1), rows = random_floats(count * ld, 2);
            Floats dots(std::size_t(m * (count + 1)), 7.0F),
                sums(std::size_t(m * (columns + 1)), 7.0F);
            RowArgs args{.left = left.data(),
                         .left_ld = left_ld,
                         .m = m,
                         .rows = rows.data(),
                         .ld = ld,
                         .count = count,
                         .columns = columns,
                         .scale = 0.5F,
                         .out = dots.data(),
                         .out_ld = count + 1};
            table_.dot_rows(args);
            args.out = sums.data();
            args.out_ld = columns + 1;
            table_.sum_rows(args);
            for (Index i = 0; i < m; ++i) {
                for (Index r = 0; r < count; ++r) {
                    double dot = 0;
                    for (Index c = 0; c < columns; ++c)
                        dot += at(left, i * left_ld + c) * at(rows, r * ld + c);
                    ASSERT_NEAR(at(dots, i * (count + 1) + r), dot / 2, 1e-5)
                        << m << " " << columns;
                }
                for (Index c = 0; c < columns; ++c) {
                    double sum = 0;
                    for (Index r = 0; r < count; ++r)
                        sum += at(left, i * left_ld + r) * at(rows, r * ld + c);
                    ASSERT_NEAR(at(sums, i * (columns + 1) + c), sum / 2, 1e-5)
                        << m << " " << columns;
                }
                EXPECT_EQ(at(dots, i * (count + 1) + count), 7);  // behind each row
                EXPECT_EQ(at(sums, i * (columns + 1) + columns), 7);
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
        table_.train.residual(dy.data(), branch.data(), scale.data(), 1.25F, 2, dim,
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

TEST_P(Tables, SumsOfColumnsInBothFormats) {
    const Floats x = random_floats(7 * 101, 1);
    std::vector<BFloat16> narrow(7 * 128);
    table_.stage(rows_of(x.data(), 101), 7, 101, 1, {narrow.data(), Format::bf16, 128});
    Floats sums(90, 1.0F), narrow_sums(90, 1.0F), y = random_floats(101, 2);
    const Floats start = y;
    table_.add_columns(rows_of(x.data(), 101), 7, 90, sums.data());
    table_.add_columns({narrow.data(), Format::bf16, 128}, 7, 90, narrow_sums.data());
    table_.add(x.data(), 101, y.data());
    for (std::size_t c = 0; c < 90; ++c) {
        double sum = 1, narrow_sum = 1;
        for (std::size_t r = 0; r < 7; ++r) {
            sum += double(x[r * 101 + c]);
            narrow_sum += double(test::rounded(x[r * 101 + c]));
        }
        EXPECT_NEAR(sums[c], sum, 1e-5);
        EXPECT_NEAR(narrow_sums[c], narrow_sum, 1e-5);
    }
    for (std::size_t i = 0; i < 101; ++i) EXPECT_EQ(y[i], start[i] + x[i]);
}

TEST_P(Tables, LayerNormWritesAProductsOperand) {
    const Index dim = 40, rows = 3;
    const Floats x = random_floats(rows * dim, 1), weight = random_floats(dim, 2),
                 bias = random_floats(dim, 3);
    Floats wide(x.size());
    std::vector<BFloat16> narrow(std::size_t(rows * 64), BFloat16{0xFFFF});
    table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-6F, rows, dim,
                      rows_of(wide.data(), dim));
    table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-6F, rows, dim,
                      {narrow.data(), Format::bf16, 64});
    for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < 64; ++c)
            EXPECT_EQ(test::widened(narrow[std::size_t(r * 64 + c)].bits),
                      c < dim ? test::rounded(wide[std::size_t(r * dim + c)]) : 0.0F);
}

TEST_P(Tables, StagingConvertsScalesAndPads) {
    const Index rows = 5, columns = 43;
    const Floats x = random_floats(rows * columns, 1);
    std::vector<BFloat16> narrow(std::size_t(rows * 64), BFloat16{0xFFFF});
    table_.stage(rows_of(x.data(), columns), rows, columns, 2, {narrow.data(), Format::bf16, 64});
    Floats wide(x.size());
    table_.stage({narrow.data(), Format::bf16, 64}, rows, columns, 0.5F,
                 rows_of(wide.data(), columns));
    for (Index r = 0; r < rows; ++r) {
        for (Index c = 0; c < columns; ++c)
            EXPECT_EQ(wide[std::size_t(r * columns + c)],
                      test::rounded(x[std::size_t(r * columns + c)]));
        for (Index c = columns; c < 64; ++c) EXPECT_EQ(narrow[std::size_t(r * 64 + c)].bits, 0);
    }
}

TEST_P(Tables, Bfloat16RoundsToNearestEven) {
    const float infinity = std::numeric_limits<float>::infinity();
    const Floats x = {1.0F, 1.00390625F, 1.01171875F, -2.5F, infinity, -infinity, NAN, 0.0F};
    const Floats expected = {1.0F, 1.0F, 1.015625F, -2.5F, infinity, -infinity, NAN, 0.0F};
    std::vector<BFloat16> narrow(32);
    const auto count = Index(x.size());
    table_.stage(rows_of(x.data(), count), 1, count, 1, {narrow.data(), Format::bf16, 32});
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float found = test::widened(narrow[i].bits);
        if (std::isnan(expected[i]))
            EXPECT_TRUE(std::isnan(found));
        else
            EXPECT_EQ(found, expected[i]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Tables, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace cait::kernels
