#include "engine/weight_store.h"

#include <gtest/gtest.h>

namespace cait::engine {
namespace {

const float* plain(WeightStore& store, const Tensor& weight) { return store.floats("w", weight); }

TEST(WeightStore, KnowsWeightsOfAFileByTheirPlace) {
    const auto numbers = std::make_shared<std::vector<float>>(8, 1.0F);
    const auto view = [&](std::size_t first) {
        return Tensor::view(DType::f32, {4}, numbers->data() + first, numbers);
    };
    WeightStore store;
    EXPECT_EQ(plain(store, view(0)), plain(store, view(0)));
    EXPECT_NE(plain(store, view(0)), plain(store, view(4)));
}

// Passes compute the same weight for each plan anew.
TEST(WeightStore, KnowsOtherWeightsByTheirContent) {
    WeightStore store;
    const std::vector<float> numbers = {1, 2, 3};
    const float* first = plain(store, Tensor::of({3}, numbers));
    const float* second = plain(store, Tensor::of({3}, numbers));
    EXPECT_EQ(first, second);
    const std::vector<float> others = {1, 2, 4};
    EXPECT_NE(plain(store, Tensor::of({3}, others)), first);
    EXPECT_EQ(first[2], 3.0F);
}

}  // namespace
}  // namespace cait::engine
