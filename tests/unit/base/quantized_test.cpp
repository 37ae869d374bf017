#include "base/quantized.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/philox.h"
#include "cait/error.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> numbers_of(const Tensor& tensor) {
    const auto* bytes = reinterpret_cast<const std::int8_t*>(tensor.bytes());
    return {bytes, bytes + tensor.count()};
}

TEST(Quantized, RoundsEachRowByItsLargestValue) {
    const std::vector<float> values{1, -0.5F, 0.25F, 0, 0, 0, 0, 0, -254, 3, 2, 1};
    const QuantizedTensor found = quantize_rows(Tensor::of({3, 4}, values));
    // 63.5 and 1.5 lie between two numbers: the even one is taken.
    EXPECT_THAT(numbers_of(found.values), ElementsAre(127, -64, 32, 0, 0, 0, 0, 0, -127, 2, 1, 0));
    EXPECT_EQ(found.scales.shape(), (Shape{3}));
    EXPECT_FLOAT_EQ(found.scales.floats()[0], 1.0F / 127);
    EXPECT_EQ(found.scales.floats()[1], 1);  // of zeros: anything above zero
    EXPECT_EQ(found.scales.floats()[2], 2);
    const Tensor back = dequantize(found.values, found.scales);
    EXPECT_THAT(std::vector<float>(back.floats().begin() + 4, back.floats().end()),
                ElementsAre(0, 0, 0, 0, -254, 4, 2, 0));
}

// One value far from all others costs less than a coarser scale for all of them.
TEST(Quantized, ClipsWhereThatLosesLess) {
    std::vector<float> values(40000);
    RandomStream random(1, "values");
    for (float& value : values) value = 0.4F * random.uniform();
    values[7] = 1;
    const Tensor row = Tensor::of({1, 40000}, values);
    const QuantizedTensor found = quantize_rows(row);
    EXPECT_LT(found.scales.floats()[0], 0.96F / 127);
    EXPECT_EQ(numbers_of(found.values)[7], 127);
    const Tensor back = dequantize(found.values, found.scales);
    double clipped = 0, plain = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        clipped += std::pow(double(back.floats()[i]) - double(values[i]), 2);
        plain += std::pow(std::nearbyint(double(values[i]) * 127) / 127 - double(values[i]), 2);
    }
    EXPECT_LT(clipped, plain);
}

TEST(Quantized, WhatIsNotFiniteIsAnError) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
        const Tensor rows = Tensor::of({2, 2}, std::vector<float>{1, 2, bad, 3});
        EXPECT_THAT([&] { quantize_rows(rows); },
                    testing::ThrowsMessage<Error>(HasSubstr("row 1: expected finite numbers")));
    }
}

TEST(Quantized, SaysWhatIsWrongWithScales) {
    const auto fault = [](std::vector<float> scales, std::int64_t rows) {
        const std::int64_t count = std::int64_t(scales.size());
        return scale_fault(Tensor::of({count}, scales), rows).value_or("");
    };
    EXPECT_EQ(fault({1, 2}, 2), "");
    EXPECT_EQ(fault({1, 2}, 3), "expected shape [3], found [2]");
    EXPECT_EQ(fault({1, 0}, 2), "row 1: expected a finite number above 0, found 0");
    EXPECT_EQ(fault({-1, 1}, 2), "row 0: expected a finite number above 0, found -1");
    EXPECT_THAT(fault({1, std::numeric_limits<float>::quiet_NaN()}, 2), HasSubstr("found nan"));
    EXPECT_THAT(fault({1, std::numeric_limits<float>::infinity()}, 2), HasSubstr("found inf"));
    EXPECT_EQ(scale_fault(Tensor::zeros(DType::f16, {2}), 2), "expected float32, found float16");
}

TEST(Quantized, ATensorWithoutScalesIsAnError) {
    EXPECT_THROW(float_tensor("w", {{"w", Tensor::zeros(DType::i8, {2, 2})}}), Error);
    const std::map<std::string, Tensor> both{{"w", Tensor::zeros(DType::i8, {2, 2})},
                                             {"w_scale", Tensor::zeros(DType::f32, {2})},
                                             {"v_scale", Tensor::zeros(DType::f32, {2})}};
    EXPECT_TRUE(is_scale_of_int8("w_scale", both));
    EXPECT_FALSE(is_scale_of_int8("v_scale", both));
    EXPECT_FALSE(is_scale_of_int8("w", both));
}

}  // namespace
}  // namespace cait
