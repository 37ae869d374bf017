#include "train/torch/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

TEST(Convert, SharesTheMemoryOfOurTensors) {
    Tensor ours = Tensor::zeros(DType::f32, {2, 3});
    const at::Tensor theirs = to_torch(ours);
    EXPECT_EQ(theirs.data_ptr(), ours.bytes());
    ours.mutable_floats()[4] = 7;
    EXPECT_EQ(theirs[1][1].item<float>(), 7);
}

TEST(Convert, KeepsTheOwnerOfTheMemoryAlive) {
    auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
    const std::weak_ptr<std::vector<float>> watched = owner;
    at::Tensor theirs = to_torch(Tensor::view(DType::f32, {3}, owner->data(), owner));
    owner.reset();
    EXPECT_EQ(theirs.sum().item<float>(), 6);
    theirs = at::Tensor();
    EXPECT_TRUE(watched.expired());
}

TEST(Convert, KnowsEveryNumberFormat) {
    const std::pair<DType, at::ScalarType> formats[] = {
        {DType::f32, at::kFloat},   {DType::f16, at::kHalf}, {DType::bf16, at::kBFloat16},
        {DType::f64, at::kDouble},  {DType::i8, at::kChar},  {DType::i16, at::kShort},
        {DType::i32, at::kInt},     {DType::i64, at::kLong}, {DType::u8, at::kByte},
        {DType::boolean, at::kBool}};
    for (const auto& [ours, theirs] : formats) {
        const at::Tensor tensor = to_torch(Tensor::zeros(ours, {4}));
        EXPECT_EQ(tensor.scalar_type(), theirs);
        EXPECT_FALSE(tensor.any().item<bool>());
    }
}

TEST(Convert, CopiesWhatItTakesFromLibTorch) {
    at::Tensor theirs = at::arange(6, at::kFloat).reshape({2, 3});
    const Tensor transposed = from_torch(theirs.t());
    EXPECT_EQ(transposed.shape(), (Shape{3, 2}));
    theirs.zero_();
    EXPECT_THAT(transposed.floats(), testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Convert, WidensShortFloatsAndKeepsIntegers) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kDouble})
        EXPECT_THAT(from_torch(at::tensor({1.5, -2.0}, at::kDouble).to(type)).floats(),
                    testing::ElementsAre(1.5F, -2.0F));
    EXPECT_EQ(from_torch(at::ones({2}, at::kLong)).dtype(), DType::i64);
}

TEST(Convert, TakesATensorThatHasAGradient) {
    EXPECT_THAT(from_torch(at::ones({2}).requires_grad_()).floats(), testing::ElementsAre(1, 1));
}

TEST(Convert, SharesTheMemoryOfLibTorchTensorsForWriting) {
    at::Tensor theirs = at::zeros({3}).requires_grad_();
    const Tensor ours = share_torch(theirs);
    EXPECT_EQ(static_cast<const void*>(ours.bytes()), theirs.data_ptr());
    {
        const at::NoGradGuard no_gradients;
        theirs.add_(2);
    }
    EXPECT_THAT(ours.floats(), testing::Each(2));
    EXPECT_EQ(share_torch(at::zeros({}, at::kLong)).dtype(), DType::i64);
    EXPECT_THROW(share_torch(at::zeros({1}, at::kDouble)), Error);
}

}  // namespace
}  // namespace cait
