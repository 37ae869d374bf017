#include "models/finite_logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cait {
namespace {

TEST(FiniteLogits, NamesTheImageAndTheClass) {
    EXPECT_NO_THROW(check_finite_logits(std::vector<float>{1, -2, 3e38F}, "a.png"));
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        try {
            check_finite_logits(std::vector<float>{1, bad}, "a.png");
            ADD_FAILURE();
        } catch (const NonFiniteLogits& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("a.png: logit 1: expected a finite"));
        }
    }
}

}  // namespace
}  // namespace cait
