#include "image/preparation_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(PreparationChange, LeavesWhatIsNotGiven) {
    const Preprocessing own{.crop_ratio = 0.9, .crop_mode = "squash", .mean = {0.1F, 0.2F, 0.3F}};
    EXPECT_FALSE(PreparationChange().any());
    EXPECT_EQ(PreparationChange().applied_to(own), own);
    const PreparationChange change{.crop_ratio = 0.5, .interpolation = "bilinear"};
    EXPECT_TRUE(change.any());
    EXPECT_FALSE(change.normalises());
    Preprocessing expected = own;
    expected.crop_ratio = 0.5;
    expected.interpolation = "bilinear";
    EXPECT_EQ(change.applied_to(own), expected);
}

TEST(PreparationChange, NumbersComeAfterTheName) {
    const PreparationChange change{.normalisation = "inception", .std = {{1, 2, 3}}};
    EXPECT_TRUE(change.normalises());
    const Preprocessing found = change.applied_to({});
    EXPECT_EQ(found.mean, (ChannelValues{0.5F, 0.5F, 0.5F}));
    EXPECT_EQ(found.std, (ChannelValues{1, 2, 3}));
    EXPECT_EQ(PreparationChange{.normalisation = "imagenet"}.applied_to({}), Preprocessing());
    EXPECT_EQ(PreparationChange{.normalisation = "none"}.applied_to({}).std,
              (ChannelValues{1, 1, 1}));
}

TEST(PreparationChange, RefusesWhatIsNone) {
    EXPECT_THROW(PreparationChange{.normalisation = "timm"}.applied_to({}), UsageError);
    EXPECT_THROW(PreparationChange{.crop_ratio = 0}.applied_to({}), UsageError);
    EXPECT_THROW(PreparationChange{.crop_mode = "round"}.applied_to({}), UsageError);
}

}  // namespace
}  // namespace cait
