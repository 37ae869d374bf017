#include "train/objectives/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace cait {
namespace {

using testing::HasSubstr;

TEST(Collapse, SpreadIsThatOfTheDirections) {
    torch::manual_seed(1);
    const at::Tensor everywhere = at::randn({4000, 64});
    EXPECT_NEAR(spread_of(everywhere).item<double>(), 1 / std::sqrt(64.0), 1e-3);
    EXPECT_NEAR(spread_of(at::ones({10, 64}) * at::arange(1, 11).unsqueeze(1)).item<double>(), 0,
                1e-7);
}

TEST(Collapse, IsNamed) {
    EXPECT_EQ(collapse_in({{"spread", 0.1}, {"teacher_entropy", 3.0}}, 64, 100), "");
    EXPECT_THAT(collapse_in({{"spread", 1e-4}}, 64, 100), HasSubstr("same features"));
    EXPECT_THAT(collapse_in({{"spread", 0.1}, {"teacher_entropy", std::log(100.0)}}, 64, 100),
                HasSubstr("same weight"));
    EXPECT_EQ(collapse_in({}, 64, 100), "");
    // ResNet-18 by SGD with a head without batch norm: a loss of ln 2048 from the third epoch on.
    EXPECT_THAT(collapse_in({{"spread", 0.056}, {"teacher_entropy", 7.6197}}, 128, 2048),
                HasSubstr("entropy 7.62, at most 7.625"));
    EXPECT_EQ(collapse_in({{"spread", 0.058}, {"teacher_entropy", 7.31}}, 128, 2048), "");
}

}  // namespace
}  // namespace cait
