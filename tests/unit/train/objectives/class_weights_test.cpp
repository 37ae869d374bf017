#include "train/objectives/label_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Six images of class "even", two of class "odd".
DatasetPtr unequal() {
    return subset(std::make_shared<data_test::MemoryDataset>(12), {0, 2, 4, 6, 8, 10, 1, 3});
}

TEST(ClassWeights, AreTheInverseOfTheClassesShares) {
    const DatasetPtr data = unequal();
    EXPECT_THAT(class_weights(ClassWeights::none, *data), testing::IsEmpty());
    EXPECT_THAT(class_weights(ClassWeights::inverse, *data),
                ElementsAre(DoubleNear(2.0 / 3, 1e-12), DoubleNear(2, 1e-12)));
    const std::vector<double> root = class_weights(ClassWeights::root, *data);
    EXPECT_NEAR(root[1] / root[0], std::sqrt(3.0), 1e-12);
    EXPECT_NEAR(6 * root[0] + 2 * root[1], 8, 1e-12);  // the mean over the images is 1
}

}  // namespace
}  // namespace cait
