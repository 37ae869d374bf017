// Every row of the table of number formats: what it says is what the kernels do.
#include "kernels/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cait/error.h"
#include "kernels/linear.h"
#include "kernels/operand.h"
#include "kernels/packed_matrix.h"
#include "kernels/precision_names.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Floats;
using test::random_floats;

class Formats : public testing::TestWithParam<FormatRow> {
protected:
    const FormatRow& row_ = GetParam();

    float through(float x) const {
        std::uint64_t element = 0;
        row_.from_float(x, &element);
        return row_.to_float(&element);
    }
};

TEST_P(Formats, IsFoundByItsFormatPrecisionAndNames) {
    EXPECT_EQ(row_of(row_.format).name, row_.name);
    EXPECT_EQ(row_of(row_.precision).format, row_.format);
    EXPECT_EQ(format_named(row_.name), &row_of(row_.format));
    EXPECT_EQ(precision_of(row_.precision_name), row_.precision);
    EXPECT_EQ(name_of(row_.precision), row_.precision_name);
}

// Of those whose elements are values by themselves; quads_test.cpp has the other one.
class FloatFormats : public Formats {};

TEST_P(FloatFormats, KeepsItsSignificantBitsAndRoundsTiesToEven) {
    const double step = std::ldexp(1.0, 1 - row_.significant_bits);  // between 1 and 2
    EXPECT_EQ(through(float(1 + step)), float(1 + step));
    if (row_.significant_bits < 24) {
        EXPECT_EQ(through(float(1 + step / 2)), 1.0F);
        EXPECT_EQ(through(float(1 + 3 * step / 2)), float(1 + 2 * step));
    }
    for (const float x : random_floats(1000, 1)) {
        EXPECT_NEAR(through(x), x, std::abs(x) * step / 2);
        EXPECT_EQ(through(through(x)), through(x));
    }
    EXPECT_TRUE(std::isnan(through(std::numeric_limits<float>::quiet_NaN())));
    EXPECT_TRUE(std::isinf(through(-std::numeric_limits<float>::infinity())));
}

// Kernels convert as the row does, and pad with zeros as it says.
TEST_P(FloatFormats, IsWhatKernelsStage) {
    const Index rows = 3, columns = 37, ld = lhs_ld(row_.format, columns);
    EXPECT_EQ(ld % row_.lhs_columns, 0);
    EXPECT_EQ(lhs_bytes(row_.format, rows, columns),
              aligned(round_up(rows, row_.lhs_rows) * ld * row_.size));
    const Floats x = random_floats(rows * columns, 1);
    for (const KernelTable* table : runnable_kernels()) {
        SCOPED_TRACE(table->name);
        Buffer memory(lhs_bytes(row_.format, rows, columns));
        std::memset(memory.data(), 0xFF, std::size_t(memory.size()));
        const MutableRows to{memory.data(), row_.format, ld};
        table->stage(rows_of(x.data(), columns), rows, columns, 1, to);
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < ld; ++c)
                ASSERT_EQ(row_.to_float(to.from(r, c).data),
                          c < columns ? through(x[std::size_t(r * columns + c)]) : 0.0F);
    }
}

TEST_P(Formats, HasProductsOfItsOwn) {
    EXPECT_EQ(products(row_.format).format, row_.format);
    EXPECT_EQ(row_of(companion(row_.format)).lhs_trailer, 0);
    if (row_.lhs_trailer == 0) {
        EXPECT_EQ(companion(row_.format), row_.format);
    }
}

TEST_P(FloatFormats, HasProductsThatPackForIt) {
    const Index rows = 7, inputs = 45, outputs = 50;
    const Floats x = random_floats(rows * inputs, 1), weight = random_floats(outputs * inputs, 2);
    PackedMatrix packed;
    packed.pack(forward_source(weight.data(), outputs, inputs), row_.format);
    EXPECT_EQ(packed.view().format, row_.format);
    Floats found(std::size_t(rows * outputs));
    Workspace workspace;
    linear_forward({.rows = rows, .inputs = inputs, .outputs = outputs, .format = row_.format},
                   x.data(), packed.view(), nullptr, found.data(), workspace);
    const auto seen = [&](const Floats& values) {
        test::Doubles result;
        for (const float v : values) result.push_back(double(through(v)));
        return result;
    };
    const test::Doubles expected = test::linear(seen(x), seen(weight), {}, inputs);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4);
}

TEST(FormatNames, UnknownNamesAreRefused) {
    EXPECT_EQ(format_named("fp7"), nullptr);
    try {
        precision_of("fp7");
        FAIL() << "expected an error";
    } catch (const UsageError& error) {
        EXPECT_STREQ(error.what(), "precision: expected fp32 or bf16 or int8, found fp7");
    }
}

INSTANTIATE_TEST_SUITE_P(Table, Formats, testing::ValuesIn(kFormats),
                         [](const auto& each) { return std::string(each.param.name); });
INSTANTIATE_TEST_SUITE_P(Table, FloatFormats,
                         testing::Values(row_of(Format::f32), row_of(Format::bf16)),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace cait::kernels
