// int8 products of every instruction set against the same whole numbers in plain loops: the same
// bits, since sums of whole numbers know no order. And what becomes of rows that have no scale.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/dispatch.h"
#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "system/isa.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Floats;
using test::random_floats;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct QuantizedRow {
    float scale = 0;
    std::vector<int> numbers;
};

QuantizedRow quantized(std::span<const float> values) {
    float greatest = 0;
    for (const float v : values) greatest = std::max(greatest, std::abs(v));
    QuantizedRow row{greatest / 127, {}};
    for (const float v : values)
        row.numbers.push_back(greatest > 0 ? int(std::lrintf(v * (127 / greatest))) : 0);
    return row;
}

// x [m, k] · weight [n, k]^T
Floats plain_product(const Floats& x, const Floats& weight, Index m, Index n, Index k) {
    const auto rows_of = [k](const Floats& values, Index count) {
        std::vector<QuantizedRow> rows;
        for (Index r = 0; r < count; ++r)
            rows.push_back(
                quantized(std::span(values).subspan(std::size_t(r * k), std::size_t(k))));
        return rows;
    };
    const std::vector<QuantizedRow> left = rows_of(x, m), right = rows_of(weight, n);
    Floats y;
    for (const QuantizedRow& a : left)
        for (const QuantizedRow& b : right) {
            int sum = 0;
            for (std::size_t i = 0; i < a.numbers.size(); ++i) sum += a.numbers[i] * b.numbers[i];
            y.push_back(float(sum) * (a.scale * b.scale));
        }
    return y;
}

// In registers and in tiles, of every table.
struct ByteWay {
    std::string name;
    const KernelTable* table;
    const ProductKernels* products;
    std::string missing = "";  // why it cannot run here
};

std::vector<ByteWay> byte_ways() {
    std::vector<ByteWay> ways;
    for (const KernelTable* table : runnable_kernels()) {
        const std::string name = table->name;
        ways.push_back({name, table, &table->quads});
        // The other tables' tiles are the same loops on tiles of plain memory.
        const bool amx = name == "avx512_bf16";
        ways.push_back(
            {name + "_tiles", table, &table->byte_tiles,
             amx && found_isa() < Isa::amx
                 ? "this processor has no AMX; its loops ran on plain memory as portable_tiles"
                 : ""});
    }
    return ways;
}

class Quads : public testing::TestWithParam<ByteWay> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    }

    const KernelTable& table_ = *GetParam().table;
    const ProductKernels& products_ = *GetParam().products;

    Lhs lhs(const Floats& x, Index m, Index k, Buffer& memory) const {
        std::memset(memory.grow(lhs_bytes(Format::s8, m, k)), 0xFF,
                    std::size_t(lhs_bytes(Format::s8, m, k)));
        const MutableRows to{memory.data(), Format::s8, lhs_ld(Format::s8, k)};
        table_.stage(rows_of(x.data(), k), m, k, 1, to);
        return lhs_of(to);
    }
    PackedView packed(const PackSource& source, Buffer& memory) const {
        memory.grow(products_.packed_bytes(source.rows, source.columns));
        products_.pack(source, memory.data());
        return {memory.data(), Format::s8, Layout::quads, source.rows, source.columns};
    }
    Floats product(const Floats& x, const Floats& weight, Index m, Index n, Index k) {
        Buffer left, right;
        Floats y(std::size_t(m * n));
        const Epilogue plain{.out = rows_of(y.data(), n)};
        products_.multiply({.m = m,
                            .n = n,
                            .k = k,
                            .a = lhs(x, m, k, left),
                            .b = packed(forward_source(weight.data(), n, k), right),
                            .epilogue = &plain,
                            .scratch = scratch_.data()});
        return y;
    }

    Buffer scratch_{product_scratch(2000)};
};

TEST_P(Quads, AreTheProductsOfWholeNumbersBitByBit) {
    for (const auto& [m, n, k] : {std::tuple<Index, Index, Index>{1, 1, 1},
                                  {3, 5, 4},
                                  {8, 32, 64},
                                  {9, 33, 65},
                                  {37, 70, 100},
                                  {33, 200, 63},
                                  {70, 417, 130}}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        const Floats x = random_floats(m * k, 1), weight = random_floats(n * k, 2);
        EXPECT_EQ(product(x, weight, m, n, k), plain_product(x, weight, m, n, k));
    }
}

// The largest sums there are: vpmaddubsw would cut them off.
TEST_P(Quads, LargeSumsAreNotCutOff) {
    const Index m = 2, n = 34, k = 1900;
    const Floats x(std::size_t(m * k), 3.0F), weight(std::size_t(n * k), -5.0F);
    for (const float y : product(x, weight, m, n, k)) ASSERT_NEAR(y, -15.0F * k, 0.1);
}

// Parts of k with scales of their own are added up in floats, as the MLP does it.
TEST_P(Quads, AccumulateOverPartsOfK) {
    const Index m = 21, n = 50, k = 192 + 70;
    const Floats x = random_floats(m * k, 1), weight = random_floats(n * k, 2);
    Buffer right;
    const PackedView b = packed(forward_source(weight.data(), n, k), right);
    Floats y(std::size_t(m * n), -1), expected(y.size(), 0);
    for (const auto& [begin, width] : {std::pair<Index, Index>{0, 192}, {192, 70}}) {
        Floats part;
        for (Index r = 0; r < m; ++r)
            for (Index c = 0; c < width; ++c) part.push_back(x[std::size_t(r * k + begin + c)]);
        Buffer left;
        products_.multiply({.m = m,
                            .n = n,
                            .k = width,
                            .a = lhs(part, m, width, left),
                            .b = b,
                            .k_begin = begin,
                            .c = y.data(),
                            .c_ld = n,
                            .accumulate = begin > 0,
                            .scratch = scratch_.data()});
        for (Index r = 0; r < m; ++r) {
            const QuantizedRow a =
                quantized(std::span(part).subspan(std::size_t(r * width), std::size_t(width)));
            for (Index o = 0; o < n; ++o) {
                const QuantizedRow w =
                    quantized(std::span(weight).subspan(std::size_t(o * k), std::size_t(k)));
                int sum = 0;
                for (Index i = 0; i < width; ++i)
                    sum += a.numbers[std::size_t(i)] * w.numbers[std::size_t(begin + i)];
                expected[std::size_t(r * n + o)] += float(sum) * (a.scale * w.scale);
            }
        }
    }
    EXPECT_EQ(y, expected);
}

// Rows that have no negative values start at 0, so that nothing is taken off the sums; a slice of
// them that is read where it lies finds the scale behind the whole row.
TEST_P(Quads, SlicesOfRowsFromZeroOnFindTheirScale) {
    const Index m = 19, n = 41, k = 64 + 50;
    Floats x = random_floats(m * k, 1);
    for (float& v : x) v = std::abs(v);
    const float greatest = *std::ranges::max_element(x);
    const ByteRange range{.scale = greatest / 255, .inverse = 255 / greatest, .zero = 0};
    Buffer left(lhs_bytes(Format::s8, m, k)), right;
    const MutableRows rows{left.data(), Format::s8, lhs_ld(Format::s8, k)};
    table_.quantize(x.data(), m, k, range, rows);
    const Floats weight = random_floats(n * k, 2);
    const PackedView b = packed(forward_source(weight.data(), n, k), right);
    Floats y(std::size_t(m * n), -1), expected;
    for (const Index begin : {Index{0}, Index{64}}) {
        Lhs a = lhs_of(rows.from(0, begin));
        a.zero = 0;
        a.scale_at -= begin;
        products_.multiply({.m = m,
                            .n = n,
                            .k = begin == 0 ? 64 : k - 64,
                            .a = a,
                            .b = b,
                            .k_begin = begin,
                            .c = y.data(),
                            .c_ld = n,
                            .accumulate = begin > 0,
                            .scratch = scratch_.data()});
    }
    for (Index r = 0; r < m; ++r)
        for (Index o = 0; o < n; ++o) {
            const QuantizedRow w =
                quantized(std::span(weight).subspan(std::size_t(o * k), std::size_t(k)));
            int first = 0, second = 0;
            for (Index i = 0; i < k; ++i) {
                const auto number = int(std::lrintf(x[std::size_t(r * k + i)] * range.inverse));
                (i < 64 ? first : second) += number * w.numbers[std::size_t(i)];
            }
            const float scale = range.scale * w.scale;
            expected.push_back(float(first) * scale + float(second) * scale);
        }
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], expected[i]) << i;
}

TEST_P(Quads, AnyOrderOfTheSourceIsPackedTheSame) {
    const Index n = 45, k = 77;
    const Floats weight = random_floats(n * k, 2);
    Floats turned(weight.size());
    for (Index o = 0; o < n; ++o)
        for (Index i = 0; i < k; ++i)
            turned[std::size_t(i * n + o)] = weight[std::size_t(o * k + i)];
    Buffer one, other;
    const PackedView a = packed(forward_source(weight.data(), n, k), one);
    const PackedView b = packed(
        {.data = turned.data(), .rows = k, .columns = n, .row_step = n, .column_step = 1}, other);
    EXPECT_EQ(std::memcmp(a.data, b.data, std::size_t(products_.packed_bytes(k, n))), 0);
}

// LayerNorm writes what staging its result would: at most a rounding apart.
TEST_P(Quads, LayerNormWritesTheOperand) {
    const Index rows = 5, dim = 50;
    const Floats x = random_floats(rows * dim, 1), weight = random_floats(dim, 2),
                 bias = random_floats(dim, 3);
    Floats normed(std::size_t(rows * dim));
    table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-6F, rows, dim,
                      rows_of(normed.data(), dim));
    Buffer memory(lhs_bytes(Format::s8, rows, dim));
    const MutableRows to{memory.data(), Format::s8, lhs_ld(Format::s8, dim)};
    table_.layer_norm(x.data(), weight.data(), bias.data(), 1e-6F, rows, dim, to);
    for (Index r = 0; r < rows; ++r) {
        const QuantizedRow expected =
            quantized(std::span(normed).subspan(std::size_t(r * dim), std::size_t(dim)));
        float scale = 0;
        std::memcpy(&scale, to.from(r + 1, -kRowTrailer).data, sizeof scale);
        EXPECT_FLOAT_EQ(scale, expected.scale);
        for (Index c = 0; c < to.ld - kRowTrailer; ++c)
            ASSERT_NEAR(byte_to_float(to.from(r, c).data),
                        c < dim ? expected.numbers[std::size_t(c)] : 0, c < dim ? 1 : 0);
    }
}

TEST_P(Quads, RowsOfZerosGiveZerosAndTinyOnesNothingElse) {
    const Index m = 3, n = 40, k = 70;
    Floats x(std::size_t(m * k), 0);
    std::fill_n(x.begin() + k, k, 1e-40F);                                 // denormal
    std::fill_n(x.begin() + 2 * k, k, std::numeric_limits<float>::max());  // scale is still finite
    const Floats weight = random_floats(n * k, 2, 1e-3);
    const Floats y = product(x, weight, m, n, k);
    for (Index i = 0; i < 2 * n; ++i) ASSERT_EQ(y[std::size_t(i)], 0.0F);
    for (Index i = 2 * n; i < 3 * n; ++i) ASSERT_FALSE(std::isnan(y[std::size_t(i)]));
}

// What is not finite makes its own row so, and no other: it is not rounded away.
TEST_P(Quads, WhatIsNotFiniteIsSeen) {
    const Index m = 4, n = 33, k = 40;
    const Floats weight = random_floats(n * k, 2);
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
        Floats x = random_floats(m * k, 1);
        x[std::size_t(2 * k + 7)] = bad;
        const Floats y = product(x, weight, m, n, k);
        for (Index i = 0; i < m * n; ++i)
            ASSERT_EQ(std::isnan(y[std::size_t(i)]), i / n == 2) << bad;
        Floats broken = weight;
        broken[std::size_t(5 * k)] = bad;
        const Floats z = product(random_floats(m * k, 1), broken, m, n, k);
        for (Index i = 0; i < m * n; ++i) ASSERT_EQ(std::isnan(z[std::size_t(i)]), i % n == 5);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Quads, testing::ValuesIn(byte_ways()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace cait::kernels
