#include "train/objectives/detection_truth.h"

#include <gmock/gmock.h>

#include "cait/error.h"
#include "data/targets/objects.h"

namespace cait {
namespace {

using testing::ElementsAre;

constexpr ImageSize kCanvas{40, 60};

// One image: a box with a mask of a column, a crowd, a box without height, a box with an empty
// mask.
struct MadeBatch {
    MadeBatch() {
        const std::vector<float> table{1, 2, 30, 20, 1, 0, 0, 0, 9, 9, 0, 1, 5, 5,  9,
                                       5, 0, 0,  7,  7, 9, 9, 2, 0, 0, 0, 0, 0, -1, 0};
        batch.targets[kObjects] = at::tensor(table).reshape({1, 5, 6});
        batch.targets[kObjectMasks] =
            at::tensor(
                std::vector<std::int32_t>{3, 40, 40, 2320, 1, 2400, 1, 2400, 1, 2400, -1, -1},
                at::kInt)
                .reshape({1, 12});
        batch.targets[kShownSizes] =
            at::tensor(std::vector<std::int64_t>{33, 0}, at::kLong).reshape({1, 2});
        batch.keys = keys;
    }
    std::vector<SampleKey> keys = std::vector<SampleKey>(1);
    ObjectiveBatch batch;
};

TEST(DetectionTruth, LeavesOutCrowdsAndWhatHasNoArea) {
    const MadeBatch made;
    const DetectionTruth truth = truth_of(made.batch, 0, kCanvas, 3, true);
    EXPECT_THAT(truth.boxes, ElementsAre(Region{1, 2, 30, 20}, Region{7, 7, 9, 9}));
    EXPECT_THAT(truth.labels, ElementsAre(1, 2));
    ASSERT_EQ(truth.masks.size(), 2U);
    EXPECT_EQ(mask_area(truth.masks[0]), 40U);
    EXPECT_TRUE(truth.masks[1].empty());
    EXPECT_EQ(truth.shown.height, 33);
    EXPECT_EQ(truth.shown.width, 60);  // not said: all of it
    EXPECT_TRUE(truth_of(made.batch, 0, kCanvas, 3, false).masks.empty());
}

TEST(DetectionTruth, RefusesWhatDoesNotFit) {
    MadeBatch made;
    EXPECT_THROW(truth_of(made.batch, 0, kCanvas, 2, true), Error);  // class 2 of 2
    made.batch.targets.erase(kObjectMasks);
    EXPECT_NO_THROW(truth_of(made.batch, 0, kCanvas, 3, false));
    EXPECT_THROW(truth_of(made.batch, 0, kCanvas, 3, true), Error);
    EXPECT_THROW(truth_of({}, 0, kCanvas, 3, false), Error);
}

TEST(DetectionTruth, TheLargestPartThatABatchShows) {
    ObjectiveBatch batch;
    EXPECT_EQ(largest_shown(batch, kCanvas).height, 40);
    batch.targets[kShownSizes] =
        at::tensor(std::vector<std::int64_t>{10, 20, 30, 15}, at::kLong).reshape({2, 2});
    EXPECT_EQ(largest_shown(batch, kCanvas).height, 30);
    EXPECT_EQ(largest_shown(batch, kCanvas).width, 20);
}

TEST(DetectionTruth, MadeObjectsHaveMasksAndBoxesOfManySizes) {
    MadeBatch made;
    put_made_objects(1, 128, kCanvas, made.batch.targets);
    const DetectionTruth truth = truth_of(made.batch, 0, kCanvas, 1, true);
    ASSERT_EQ(truth.boxes.size(), 128U);
    ASSERT_EQ(truth.masks.size(), 128U);
    for (const RunMask& mask : truth.masks) EXPECT_EQ(mask_area(mask), 40U);
    EXPECT_EQ(truth.boxes.back(), (Region{0, 0, 60, 40}));
    EXPECT_EQ(truth.boxes.front(), (Region{0, 0, 1, 1}));
}

}  // namespace
}  // namespace cait
