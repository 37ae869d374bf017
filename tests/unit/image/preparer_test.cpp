#include "image/preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

const Preprocessing kOther{.crop_ratio = 0.6,
                           .crop_mode = "squash",
                           .interpolation = "bilinear",
                           .mean = {0.1F, 0.2F, 0.3F},
                           .std = {0.5F, 0.6F, 0.7F}};

TEST(Preparer, TakesEveryFieldOfThePreprocessing) {
    EvaluationTransform transform{.height = 12,
                                  .width = 16,
                                  .crop_ratio = 0.6,
                                  .filter = Filter::bilinear,
                                  .mode = CropMode::squash,
                                  .mean = kOther.mean,
                                  .std = kOther.std};
    const Image image = picture(50, 40, 3);
    std::vector<float> expected(3 * 12 * 16), found(expected.size());
    Preparer{transform}(image, expected);
    Preparer preparer(kOther, {12, 16});
    preparer(image, found);
    EXPECT_EQ(found, expected);
}

// The table of normalised values belongs to the preparation, not to an image.
TEST(Preparer, RefusesWhatCannotBeNormalisedBeforeTheFirstImage) {
    Preprocessing flat = kOther;
    flat.std[1] = 0;
    EXPECT_THROW(Preparer(flat, {8, 8}), UsageError);
}

TEST(Preparer, MakesBatchesOfItsImagesInTheirOrder) {
    const std::vector<Image> images{picture(50, 40, 3), picture(9, 70, 3), picture(30, 30, 1)};
    Preparer preparer(kOther, {8, 8});
    const Tensor batch =
        preparer.batch(3, [&](std::size_t i) -> const Image& { return images[i]; });
    ASSERT_EQ(batch.shape(), (Shape{3, 3, 8, 8}));
    for (std::size_t i = 0; i < images.size(); ++i) {
        std::vector<float> one(3 * 64);
        Preparer(kOther, {8, 8})(images[i], one);
        EXPECT_THAT(batch.floats().subspan(i * one.size(), one.size()),
                    testing::ElementsAreArray(one));
    }
}

TEST(Preparer, SaysWhichPartOfTheImageItShows) {
    const auto seen = [](const char* mode, double ratio) {
        Preprocessing preprocessing;
        preprocessing.crop_mode = mode;
        preprocessing.crop_ratio = ratio;
        const Box box = Preparer(preprocessing, {8, 8}).seen(Image::blank(64, 32, 3));
        return std::vector<double>{box.left, box.top, box.right, box.bottom};
    };
    EXPECT_EQ(seen("centre", 1), (std::vector<double>{16, 0, 48, 32}));
    EXPECT_EQ(seen("centre", 0.5), (std::vector<double>{24, 8, 40, 24}));
    EXPECT_EQ(seen("squash", 1), (std::vector<double>{0, 0, 64, 32}));
    EXPECT_EQ(seen("border", 1), (std::vector<double>{0, -16, 64, 48}));
}

TEST(Preparer, RefusesWhatMakesNoSense) {
    const auto with = [](auto change) {
        Preprocessing preprocessing;
        change(preprocessing);
        return Preparer(preprocessing, {8, 8});
    };
    EXPECT_THROW(with([](Preprocessing& p) { p.crop_ratio = 0; }), UsageError);
    EXPECT_THROW(with([](Preprocessing& p) { p.crop_mode = "middle"; }), UsageError);
    EXPECT_THROW(with([](Preprocessing& p) { p.interpolation = "guess"; }), UsageError);
}

}  // namespace
}  // namespace cait
