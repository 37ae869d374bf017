#include "base/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "cait/error.h"

namespace cait {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Half, ReadsTheCornersOfTheFormat) {
    EXPECT_EQ(half_to_float(0x0000), 0.0F);
    EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
    EXPECT_EQ(half_to_float(0x0001), 0x1p-24F);  // least subnormal
    EXPECT_EQ(half_to_float(0x03ff), 1023 * 0x1p-24F);
    EXPECT_EQ(half_to_float(0x0400), 0x1p-14F);  // least normal
    EXPECT_EQ(half_to_float(0x3c00), 1.0F);
    EXPECT_EQ(half_to_float(0xc000), -2.0F);
    EXPECT_EQ(half_to_float(0x7bff), 65504.0F);
    EXPECT_EQ(half_to_float(0x7c00), kInfinity);
    EXPECT_EQ(half_to_float(0xfc00), -kInfinity);
    EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
}

// All 65536 patterns, each against the value that the format's definition gives it.
TEST(Half, EveryPatternReadsAsDefinedAndSurvivesTheRoundTrip) {
    for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
        const auto bits = std::uint16_t(pattern);
        const float value = half_to_float(bits);
        const int exponent = (bits >> 10) & 0x1f;
        const int mantissa = bits & 0x3ff;
        if (exponent == 31 && mantissa != 0) {
            ASSERT_TRUE(std::isnan(value)) << pattern;
            ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << pattern;
            continue;
        }
        double expected =
            exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
        if (exponent == 31) expected = kInfinity;
        if ((bits & 0x8000) != 0) expected = -expected;
        ASSERT_EQ(double(value), expected) << pattern;
        ASSERT_EQ(float_to_half(value), bits) << pattern;
    }
}

TEST(Half, RoundsToNearestEven) {
    EXPECT_EQ(float_to_half(1 + 0x1p-11F), 0x3c00);             // a tie goes down to even
    EXPECT_EQ(float_to_half(1 + 3 * 0x1p-11F), 0x3c02);         // a tie goes up to even
    EXPECT_EQ(float_to_half(1 + 0x1p-11F + 0x1p-20F), 0x3c01);  // just above the tie
    EXPECT_EQ(float_to_half(2 - 0x1p-12F), 0x4000);             // the carry reaches the exponent
    EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);                 // a tie between 0 and 2^-24
    EXPECT_EQ(float_to_half(0x1p-25F * 1.5F), 0x0001);
    EXPECT_EQ(float_to_half(0x1p-14F - 0x1p-26F), 0x0400);  // subnormal that rounds to normal
    EXPECT_EQ(float_to_half(65519.0F), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
    EXPECT_EQ(float_to_half(-1e30F), 0xfc00);
    EXPECT_TRUE(std::isnan(half_to_float(float_to_half(kNan))));
}

TEST(Bfloat16, EveryPatternSurvivesTheRoundTrip) {
    for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
        const auto bits = std::uint16_t(pattern);
        const float value = bfloat16_to_float(bits);
        if (std::isnan(value))
            ASSERT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value)))) << pattern;
        else
            ASSERT_EQ(float_to_bfloat16(value), bits) << pattern;
    }
}

TEST(Bfloat16, RoundsToNearestEven) {
    EXPECT_EQ(float_to_bfloat16(1.0F), 0x3f80);
    EXPECT_EQ(float_to_bfloat16(1 + 0x1p-8F), 0x3f80);      // a tie goes down to even
    EXPECT_EQ(float_to_bfloat16(1 + 3 * 0x1p-8F), 0x3f82);  // a tie goes up to even
    EXPECT_EQ(float_to_bfloat16(1 + 0x1p-8F + 0x1p-20F), 0x3f81);
    EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
    EXPECT_EQ(float_to_bfloat16(-kInfinity), 0xff80);
    // The payload of this NaN lies in the bits that are cut off; it must not become infinity.
    EXPECT_TRUE(
        std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Convert, GoesThroughEveryFloatingType) {
    const Tensor source = Tensor::of({2, 3}, std::array<float, 6>{0, -1, 0.5F, 1024, -0.25F, 3});
    for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
        const Tensor there = convert(source, dtype);
        EXPECT_EQ(there.dtype(), dtype);
        EXPECT_EQ(there.shape(), source.shape());
        EXPECT_THAT(convert(there, DType::f32).floats(),
                    testing::ElementsAreArray(source.floats()));
    }
}

TEST(Convert, ReadsIntegersAndBooleans) {
    const std::array<std::int8_t, 3> small{-128, 0, 127};
    const Tensor bytes = Tensor::view(DType::i8, {3}, small.data(), nullptr);
    EXPECT_THAT(convert(bytes, DType::f32).floats(), testing::ElementsAre(-128, 0, 127));
    const std::array<std::int64_t, 2> large{-3, 1LL << 40};
    const Tensor wide = Tensor::view(DType::i64, {2}, large.data(), nullptr);
    EXPECT_THAT(convert(wide, DType::f32).floats(), testing::ElementsAre(-3, 0x1p40F));
    const std::array<std::uint8_t, 2> flags{0, 1};
    const Tensor booleans = Tensor::view(DType::boolean, {2}, flags.data(), nullptr);
    EXPECT_THAT(convert(booleans, DType::f32).floats(), testing::ElementsAre(0, 1));
}

TEST(Convert, ReturnsTheSameMemoryWhenNothingChanges) {
    const Tensor source = Tensor::of({2}, std::array<float, 2>{1, 2});
    EXPECT_EQ(convert(source, DType::f32).bytes(), source.bytes());
}

// A safetensors file may put a tensor at any byte; a typed pointer to it would be undefined.
TEST(Convert, CopiesWhatIsNotAligned) {
    auto memory = std::make_shared<std::vector<std::byte>>(2 * sizeof(float) + 8);
    const std::array<float, 2> values{1.5F, -2};
    std::byte* odd = memory->data() + 1;
    std::memcpy(odd, values.data(), sizeof(values));
    const Tensor view = Tensor::view(DType::f32, {2}, odd, memory);
    const Tensor aligned = convert(view, DType::f32);
    EXPECT_NE(aligned.bytes(), view.bytes());
    EXPECT_THAT(aligned.floats(), testing::ElementsAre(1.5F, -2));
    EXPECT_THAT(convert(view, DType::f64).count(), 2);
}

TEST(Convert, RefusesIntegersAsATarget) {
    try {
        (void)convert(Tensor::zeros(DType::f32, {1}), DType::i32);
        FAIL() << "expected an Error";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "cannot convert float32 to int32");
    }
}

TEST(Convert, AcceptsAnEmptyTensor) {
    EXPECT_EQ(convert(Tensor::zeros(DType::f16, {0, 4}), DType::f32).count(), 0);
}

TEST(IsFloating, IsTrueForTheFourFloatingTypes) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
        EXPECT_TRUE(is_floating(dtype));
    for (const DType dtype : {DType::i8, DType::i64, DType::u8, DType::boolean})
        EXPECT_FALSE(is_floating(dtype));
}

}  // namespace
}  // namespace cait
