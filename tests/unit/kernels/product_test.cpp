// Products of every format and instruction set that this processor can run against plain sums, at
// sizes that fill tiles and at sizes that do not, with everything that an epilogue can do.
#include "kernels/product.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/dispatch.h"
#include "kernels/workspace.h"
#include "support/all_formats.h"
#include "system/isa.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

struct Way {
    std::string name;
    const KernelTable* table;
    const ProductKernels* products;
    std::string missing = "";  // why it cannot run here
};

std::vector<Way> ways() {
    std::vector<Way> result;
    for (const KernelTable* table : runnable_kernels()) {
        const std::string name = table->name;
        result.push_back({name + "_f32", table, &table->f32});
        result.push_back({name + "_rounded", table, &table->rounded});
        result.push_back({name + "_pairs", table, &table->pairs});
        // The other tables' tiles are the same loops on tiles of plain memory.
        const bool amx = name == "avx512_bf16";
        result.push_back(
            {name + "_tiles", table, &table->tiles,
             amx && found_isa() < Isa::amx
                 ? "this processor has no AMX; its loops ran on plain memory as portable_tiles"
                 : ""});
    }
    return result;
}

class Products : public testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    }

    Format format() const { return GetParam().products->format; }
    bool rounds() const { return format() == Format::bf16; }

    // The value that a product sees.
    double seen(float x) const { return rounds() ? double(test::rounded(x)) : double(x); }

    Lhs lhs(const Floats& a, Index m, Index k, bool transposed, Buffer& memory) const {
        const KernelTable& table = *GetParam().table;
        if (!rounds())
            return {a.data(), Format::f32, transposed ? 1 : k, transposed ? m : Index{1}};
        memory.grow(lhs_bytes(format(), m, k));
        const MutableRows to{memory.data(), format(), lhs_ld(format(), k)};
        if (transposed)
            table.stage_transposed(rows_of(a.data(), m), k, m, static_cast<BFloat16*>(to.data));
        else
            table.stage(rows_of(a.data(), k), m, k, 1, to);
        return {to.data, format(), to.ld, 1};
    }

    PackedView packed(const PackSource& source, Buffer& memory) const {
        const ProductKernels& products = *GetParam().products;
        memory.grow(products.packed_bytes(source.rows, source.columns));
        products.pack(source, memory.data());
        return {memory.data(), format(), products.layout, source.rows, source.columns};
    }

    Buffer scratch_{product_scratch(800)};
};

struct Size {
    Index m, n, k;
};
const Size kSizes[] = {{1, 1, 1},    {3, 5, 2},    {4, 24, 48},    {8, 48, 64},   {17, 31, 33},
                       {16, 32, 32}, {31, 97, 65}, {33, 193, 100}, {70, 50, 401}, {5, 300, 193}};

TEST_P(Products, OfAnySizeUprightAndTransposed) {
    for (const Size s : kSizes)
        for (const bool a_across : {false, true})
            for (const bool b_across : {false, true}) {
                SCOPED_TRACE(testing::Message()
                             << s.m << "x" << s.n << "x" << s.k << a_across << b_across);
                const Floats a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2),
                             scales = random_floats(s.k, 3), start = random_floats(s.m * s.n, 4);
                Buffer a_memory, b_memory;
                Floats found(std::size_t(s.m * (s.n + 3)), 42.0F);
                const ProductArgs args{.m = s.m,
                                       .n = s.n,
                                       .k = s.k,
                                       .a = lhs(a, s.m, s.k, a_across, a_memory),
                                       .b = packed({.data = b.data(),
                                                    .rows = s.k,
                                                    .columns = s.n,
                                                    .row_step = b_across ? 1 : s.n,
                                                    .column_step = b_across ? s.k : Index{1},
                                                    .scale = 0.5F,
                                                    .row_scale = scales.data()},
                                                   b_memory),
                                       .c = found.data(),
                                       .c_ld = s.n + 3,
                                       .accumulate = a_across,
                                       .scratch = scratch_.data()};
                if (args.accumulate)
                    for (Index i = 0; i < s.m; ++i)
                        std::memcpy(&found[std::size_t(i * (s.n + 3))],
                                    &start[std::size_t(i * s.n)], std::size_t(s.n) * 4);
                GetParam().products->multiply(args);
                for (Index i = 0; i < s.m; ++i) {
                    for (Index j = 0; j < s.n; ++j) {
                        double sum = args.accumulate ? double(start[std::size_t(i * s.n + j)]) : 0;
                        for (Index k = 0; k < s.k; ++k)
                            sum += seen(a[std::size_t(a_across ? k * s.m + i : i * s.k + k)]) *
                                   seen(0.5F * scales[std::size_t(k)] *
                                        b[std::size_t(b_across ? j * s.k + k : k * s.n + j)]);
                        ASSERT_NEAR(found[std::size_t(i * (s.n + 3) + j)], sum,
                                    2e-6 * double(s.k + 10))
                            << i << " " << j;
                    }
                    for (Index j = 0; j < 3; ++j)  // the gap between rows
                        ASSERT_EQ(found[std::size_t(i * (s.n + 3) + s.n + j)], 42.0F);
                }
            }
}

// Two thirds of the columns and of k, from the middle of a packed matrix.
TEST_P(Products, OfAPartOfThePackedMatrix) {
    const Index m = 19, n = 96, k = 96, all = 288;
    const Floats a = random_floats(m * k, 1), b = random_floats(all * all, 2);
    Buffer a_memory, b_memory;
    Floats found(std::size_t(m * n));
    GetParam().products->multiply(
        {.m = m,
         .n = n,
         .k = k,
         .a = lhs(a, m, k, false, a_memory),
         .b = packed({.data = b.data(), .rows = all, .columns = all, .row_step = all}, b_memory),
         .k_begin = 96,
         .column_begin = 192,
         .c = found.data(),
         .c_ld = n,
         .scratch = scratch_.data()});
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
            double sum = 0;
            for (Index l = 0; l < k; ++l)
                sum += seen(a[std::size_t(i * k + l)]) *
                       seen(b[std::size_t((96 + l) * all + 192 + j)]);
            ASSERT_NEAR(found[std::size_t(i * n + j)], sum, 3e-4);
        }
}

// Everything behind a product in one place: what each epilogue means.
TEST_P(Products, EpiloguesFinishTheSums) {
    const Index m = 45, n = 203, k = 40, ld = n + 5;
    const Floats a = random_floats(m * k, 1, 0.3), b = random_floats(k * n, 2, 0.3),
                 bias = random_floats(n, 3), gain = random_floats(n, 4),
                 before = random_floats(m * ld, 5), stream = random_floats(m * n, 6);
    Buffer a_memory, b_memory;
    ProductArgs args{.m = m, .n = n, .k = k};
    args.a = lhs(a, m, k, false, a_memory);
    args.b = packed({.data = b.data(), .rows = k, .columns = n, .row_step = n}, b_memory);
    args.scratch = scratch_.data();
    const auto sum = [&](Index i, Index j) {
        double total = 0;
        for (Index l = 0; l < k; ++l)
            total += seen(a[std::size_t(i * k + l)]) * seen(b[std::size_t(l * n + j)]);
        return total;
    };
    const auto gelu = [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); };
    const auto slope = [](double v) {
        return 0.5 * std::erfc(-v / std::sqrt(2.0)) +
               v * std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
    };
    for (const Format out_format : test::float_formats()) {
        SCOPED_TRACE(int(out_format));
        const double relative = out_format == Format::f32 ? 4e-6 : 5e-3;
        const Index bytes = size_of(out_format);
        const auto read = [&](const Buffer& buffer, Index i, Index j) {
            return double(row_of(out_format).to_float(buffer.data() + (i * ld + j) * bytes));
        };
        Buffer out(m * ld * bytes), after(m * ld * bytes);
        Buffer kept(m * ld * bytes + kAlignment);  // staging pads the last row, too
        const auto rows = [&](Buffer& buffer) {
            return MutableRows{buffer.data(), out_format, ld};
        };
        const auto near = [&](double found, double expected, const char* what) {
            ASSERT_NEAR(found, expected, relative * (std::abs(expected) + 1)) << what;
        };

        Epilogue plain{.bias = bias.data(), .out = rows(out)};
        args.epilogue = &plain;
        GetParam().products->multiply(args);
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j)
                near(read(out, i, j), sum(i, j) + double(bias[std::size_t(j)]), "bias");

        Epilogue forward{.bias = bias.data(), .activation = Epilogue::Activation::gelu};
        forward.before = rows(kept);
        forward.out = rows(out);
        args.epilogue = &forward;
        GetParam().products->multiply(args);
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
                const double value = sum(i, j) + double(bias[std::size_t(j)]);
                near(read(kept, i, j), value, "before GELU");
                near(read(out, i, j), gelu(value), "GELU");
            }

        GetParam().table->stage(rows_of(before.data(), ld), m, ld, 1, rows(kept));
        Epilogue backward{.activation = Epilogue::Activation::gelu_backward};
        backward.before = rows(kept);
        backward.after = rows(after);
        backward.out = rows(out);
        args.epilogue = &backward;
        GetParam().products->multiply(args);
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
                const double x = read(kept, i, j);
                near(read(after, i, j), gelu(x), "GELU again");
                near(read(out, i, j), sum(i, j) * slope(x), "through GELU");
            }
    }

    // Three images of 15 rows, one of them with another factor, with and without sums before.
    Floats y(stream.size()), sums = random_floats(m * n, 7);
    const Floats sums_before = sums;
    std::vector<Segment> segments;
    for (std::size_t s = 0; s < 3; ++s)
        segments.push_back(
            {&stream[s * std::size_t(15 * n)], &y[s * std::size_t(15 * n)], s == 1 ? 2.5F : 1.0F});
    Epilogue residual{.bias = bias.data(), .segments = segments.data(), .segment_rows = 15};
    residual.segment_ld = n;
    args.epilogue = &residual;
    args.c = sums.data();
    args.c_ld = n;
    for (const bool with_gain : {false, true}) {
        sums = sums_before;
        residual.gain = with_gain ? gain.data() : nullptr;
        args.accumulate = with_gain;
        GetParam().products->multiply(args);
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
                const auto at = std::size_t(i * n + j);
                const double v = (with_gain ? double(sums_before[at]) : 0) + sum(i, j) +
                                 double(bias[std::size_t(j)]);
                const double weight = double(segments[std::size_t(i / 15)].factor) *
                                      (with_gain ? double(gain[std::size_t(j)]) : 1);
                ASSERT_NEAR(y[at], double(stream[at]) + weight * v, 1e-4);
            }
    }
}

// What convolutional models need of an epilogue: other activations, a bias of rows, and a ReLU
// behind the residual.
TEST_P(Products, EpiloguesActivateBeforeAndAfterTheResidual) {
    const Index m = 37, n = 101, k = 40;
    const Floats a = random_floats(m * k, 1, 0.3), b = random_floats(k * n, 2, 0.3),
                 bias = random_floats(n, 3), row_bias = random_floats(m, 4),
                 stream = random_floats(m * n, 5);
    Buffer a_memory, b_memory;
    Floats y(std::size_t(m * n));
    ProductArgs args{.m = m, .n = n, .k = k};
    args.a = lhs(a, m, k, false, a_memory);
    args.b = packed({.data = b.data(), .rows = k, .columns = n, .row_step = n}, b_memory);
    args.scratch = scratch_.data();
    using enum Epilogue::Activation;
    for (const auto kind : {none, gelu, relu, silu, sigmoid})
        for (const bool by_row : {false, true})
            for (const int residual : {0, 1, 2}) {
                SCOPED_TRACE(testing::Message() << int(kind) << by_row << residual);
                const Segment segment{stream.data(), y.data(), 0.5F};
                Epilogue epilogue{.bias = by_row ? nullptr : bias.data()};
                epilogue.row_bias = by_row ? row_bias.data() : nullptr;
                epilogue.activation = kind;
                epilogue.out = rows_of(y.data(), n);
                epilogue.segments = residual > 0 ? &segment : nullptr;
                epilogue.segment_rows = m;
                epilogue.segment_ld = n;
                epilogue.relu_last = residual == 2;
                args.epilogue = &epilogue;
                GetParam().products->multiply(args);
                for (Index i = 0; i < m; ++i)
                    for (Index j = 0; j < n; ++j) {
                        double v = by_row ? double(row_bias[std::size_t(i)])
                                          : double(bias[std::size_t(j)]);
                        for (Index l = 0; l < k; ++l)
                            v += seen(a[std::size_t(i * k + l)]) * seen(b[std::size_t(l * n + j)]);
                        v = test::activated(kind, v);
                        const auto at = std::size_t(i * n + j);
                        if (residual > 0) v = double(stream[at]) + 0.5 * v;
                        if (residual == 2) v = std::max(0.0, v);
                        ASSERT_NEAR(y[at], v, 2e-5);
                    }
            }
}

// A row's result does not depend on how many rows are computed with it.
TEST_P(Products, GiveTheSameBitsForFewRowsAndMany) {
    const Index m = 50, n = 60, k = 70;
    const Floats a = random_floats(m * k, 1), b = random_floats(k * n, 2);
    Buffer a_memory, b_memory, one_memory;
    Floats all(std::size_t(m * n)), one(all.size() / std::size_t(m));
    const PackedView right =
        packed({.data = b.data(), .rows = k, .columns = n, .row_step = n}, b_memory);
    ProductArgs args{.m = m, .n = n, .k = k};
    args.a = lhs(a, m, k, false, a_memory);
    args.b = right;
    args.c = all.data();
    args.c_ld = n;
    args.scratch = scratch_.data();
    GetParam().products->multiply(args);
    for (const Index row : {0, 7, 33, 49}) {
        const Floats alone(a.begin() + row * k, a.begin() + (row + 1) * k);
        args.m = 1;
        args.a = lhs(alone, 1, k, false, one_memory);
        args.c = one.data();
        GetParam().products->multiply(args);
        EXPECT_EQ(one, Floats(all.begin() + row * n, all.begin() + (row + 1) * n));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Products, testing::ValuesIn(ways()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait::kernels
