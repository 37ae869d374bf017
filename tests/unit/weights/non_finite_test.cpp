#include "weights/non_finite.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/convert.h"

namespace cait {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(NonFinite, FindsWhatAFormatCannotHold) {
    const auto lost = [](const std::vector<float>& values, DType dtype) {
        const Tensor tensor = Tensor::of({std::int64_t(values.size())}, values);
        return first_overflow(tensor, convert(tensor, dtype));
    };
    EXPECT_FALSE(lost({1, -65504, 65519}, DType::f16));
    EXPECT_EQ(lost({1, 2, -65520}, DType::f16)->index, 2);
    EXPECT_EQ(lost({1, 2, -65520}, DType::f16)->value, -65520);
    EXPECT_FALSE(lost({3e38F, -3e38F}, DType::bf16));
    EXPECT_EQ(lost({0, std::numeric_limits<float>::max()}, DType::bf16)->index, 1);
    // What was infinite before was not lost here.
    EXPECT_FALSE(lost({kInfinity, 1}, DType::f16));
    EXPECT_EQ(lost({kInfinity, 1e30F}, DType::f16)->index, 1);
}

}  // namespace
}  // namespace cait
