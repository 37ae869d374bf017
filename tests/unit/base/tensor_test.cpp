#include "cait/tensor.h"

#include <gtest/gtest.h>

#include <array>

#include "cait/error.h"

namespace cait {
namespace {

TEST(Shape, CountsBatchAsOne) { EXPECT_EQ((Shape{Shape::kBatch, 196, 192}.count()), 196 * 192); }

TEST(Shape, NegativeAxisCountsFromTheBack) {
    const Shape shape{2, 3, 5};
    EXPECT_EQ(shape[-1], 5);
    EXPECT_THROW(shape[3], Error);
}

TEST(Shape, RefusesAProductThatOverflows) {
    EXPECT_THROW((Shape{1LL << 32, 1LL << 32}.count()), Error);
    EXPECT_THROW((Shape{4, -2}.count()), Error);
}

TEST(Tensor, ViewKeepsItsOwnerAliveAndIsReadOnly) {
    auto owner = std::make_shared<std::array<float, 3>>(std::array<float, 3>{1, 2, 3});
    Tensor view = Tensor::view(DType::f32, {3}, owner->data(), owner);
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_FLOAT_EQ(view.floats()[2], 3);
    EXPECT_THROW(view.mutable_floats(), Error);
}

TEST(Tensor, ReshapeSharesMemory) {
    const Tensor tensor = Tensor::of({2, 2}, std::array<float, 4>{1, 2, 3, 4});
    const Tensor flat = tensor.reshaped({4});
    EXPECT_EQ(flat.bytes(), tensor.bytes());
    EXPECT_THROW(tensor.reshaped({3}), Error);
}

}  // namespace
}  // namespace cait
