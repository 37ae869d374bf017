#include "data/augment/segmentation_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cait/error.h"
#include "data/targets/label_image.h"
#include "support/case_count.h"
#include "unit/data/memory_dataset.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using ::testing::HasSubstr;

std::filesystem::path segmentation_data() {
    return test::source_path(__FILE__).parent_path().parent_path() /
           "data/segmentation.safetensors";
}

SampleKey key_of(std::uint64_t sample) { return {.seed = 5, .sample = sample}; }

// Every pixel of the image tells its place; every label tells it, too.
Image image_of_places(std::int64_t width, std::int64_t height) {
    Image image = Image::blank(width, height, 3);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) image.row(y)[3 * x] = std::uint8_t(10 * y + x);
    return image;
}

LabelImage labels_of_places(std::int64_t width, std::int64_t height) {
    LabelImage labels{width, height, {}};
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) labels.values.push_back(std::uint8_t(10 * y + x));
    return labels;
}

TEST(Fitting, RoundsAsMmcv) {
    test::CaseCount cases(8);
    for (const test::Golden& golden : test::golden(segmentation_data(), "fitting")) {
        const auto numbers = golden.numbers<std::int64_t>();
        for (std::size_t i = 0; i + 5 < numbers.size(); i += 6) {
            const Extent found =
                fitting({numbers[i], numbers[i + 1]}, numbers[i + 2], numbers[i + 3]);
            EXPECT_EQ(found.width, numbers[i + 4]);
            EXPECT_EQ(found.height, numbers[i + 5]);
            ++cases;
        }
    }
}

// At the image's own size nothing is interpolated: the red of each pixel must be its label.
TEST(SegmentationTransform, MovesImageAndLabelsAlike) {
    const SegmentationTransform transform({.height = 5,
                                           .width = 7,
                                           .long_side = 24,
                                           .short_side = 6,
                                           .ratio = {1, 1},
                                           .photometric = false,
                                           .mean = {0, 0, 0},
                                           .std = {1, 1, 1}});
    const Image image = image_of_places(9, 6);
    const LabelImage labels = labels_of_places(9, 6);
    const data_test::MemoryDataset dataset(1);
    const TargetPtr target = label_image_target({5, 7});
    SegmentationWorkspace workspace;
    std::vector<float> out(3 * 5 * 7);
    std::set<int> corners;
    bool mirrored = false, straight = false;
    for (std::uint64_t i = 0; i < 60; ++i) {
        const Geometry geometry = transform.apply(image, labels, key_of(i), workspace, out);
        Targets targets;
        target->prepare(1, targets);
        target->write({dataset, key_of(i), image, geometry, labels}, 0, targets);
        const auto* values =
            reinterpret_cast<const std::uint8_t*>(targets.at(kLabelImages).bytes());
        for (std::size_t p = 0; p < 35; ++p)
            ASSERT_EQ(std::lround(out[p] * 255), values[p]) << i << " " << p;
        ASSERT_EQ(std::abs(values[1] - values[0]), 1);
        (geometry.mirrored ? mirrored : straight) = true;
        corners.insert(int(geometry.scaled->part.top * 10 + geometry.scaled->part.left));
    }
    EXPECT_TRUE(mirrored && straight);
    EXPECT_EQ(corners.size(), 6U);  // 3 across, 2 down
}

TEST(SegmentationTransform, DrawsItsScalesUniformly) {
    const SegmentationTransform transform({.largest_class = 1});
    SegmentationWorkspace workspace;
    double sum = 0;
    constexpr int kDraws = 2000;
    for (int i = 0; i < kDraws; ++i) {
        const Geometry geometry =
            transform.draw({683, 512}, {}, key_of(std::uint64_t(i)), workspace);
        const double ratio = double(geometry.scaled->whole.height) / 512;
        ASSERT_GE(ratio, 0.499);
        ASSERT_LE(ratio, 2.0);
        sum += ratio;
    }
    EXPECT_NEAR(sum / kDraws, 1.25, 0.03);  // three deviations of the mean are 0.029
}

// One corner of the image is of another class: without the rule nearly all crops miss it.
TEST(SegmentationTransform, DrawsAgainWhileACropIsAllOfOneClass) {
    LabelImage labels{64, 64, std::vector<std::uint8_t>(64 * 64, 0)};
    for (std::size_t y = 0; y < 40; ++y)
        for (std::size_t x = 0; x < 40; ++x) labels.values[y * 64 + x] = 1;
    const auto varied_share = [&](double largest) {
        const SegmentationTransform transform({.height = 16,
                                               .width = 16,
                                               .long_side = 256,
                                               .short_side = 64,
                                               .ratio = {1, 1},
                                               .largest_class = largest});
        SegmentationWorkspace workspace;
        int varied = 0;
        for (std::uint64_t i = 0; i < 300; ++i) {
            const Rectangle part =
                transform.draw({64, 64}, labels, key_of(i), workspace).scaled->part;
            int ones = 0;
            for (std::int64_t y = part.top; y < part.top + 16; ++y)
                for (std::int64_t x = part.left; x < part.left + 16; ++x)
                    ones += labels.values[std::size_t(y * 64 + x)];
            varied += ones < 192 && ones > 64 ? 1 : 0;
        }
        return double(varied) / 300;
    };
    const double without = varied_share(1);
    EXPECT_LT(without, 0.35);
    EXPECT_NEAR(varied_share(0.75), 1 - std::pow(1 - without, 11), 0.05);
}

TEST(SegmentationTransform, CountsLabelledPixelsAlone) {
    // Half is ignored; of the rest one class has 70 %: below the limit of 75 %, above 50 %.
    LabelImage labels{20, 10, std::vector<std::uint8_t>(200, kIgnored)};
    for (std::size_t i = 0; i < 100; ++i) labels.values[i] = i < 70 ? 1 : 2;
    const auto first_is_kept = [&](double largest) {
        SegmentationSettings settings{.height = 10,
                                      .width = 19,
                                      .long_side = 40,
                                      .short_side = 10,
                                      .ratio = {1, 1},
                                      .largest_class = largest};
        SegmentationWorkspace workspace;
        int kept = 0;
        for (std::uint64_t i = 0; i < 64; ++i) {
            const auto left = [&] {
                return SegmentationTransform(settings)
                    .draw({20, 10}, labels, key_of(i), workspace)
                    .scaled->part.left;
            };
            settings.largest_class = largest;
            const std::int64_t judged = left();
            settings.largest_class = 1;
            kept += judged == left() ? 1 : 0;
        }
        return kept == 64;
    };
    EXPECT_TRUE(first_is_kept(0.75));
    EXPECT_FALSE(first_is_kept(0.5));
}

TEST(SegmentationTransform, ChangesColoursOfSomeImagesAndNeverTheLabels) {
    SegmentationSettings settings{.height = 30,
                                  .width = 40,
                                  .long_side = 120,
                                  .short_side = 30,
                                  .ratio = {1, 1},
                                  .largest_class = 1,
                                  .flip = 0};
    const SegmentationTransform coloured(settings);
    settings.photometric = false;
    const SegmentationTransform plain(settings);
    const Image image = test::picture(40, 30, 3);
    SegmentationWorkspace workspace;
    int changed = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Geometry geometry = coloured.draw({40, 30}, {}, key_of(i), workspace);
        ASSERT_EQ(plain.augment(image, geometry, key_of(i), workspace), image);
        changed += coloured.augment(image, geometry, key_of(i), workspace) == image ? 0 : 1;
    }
    EXPECT_GT(changed, 170);  // 15 of 16, but for changes too small to see
    EXPECT_LT(changed, 200);
}

TEST(SegmentationTransform, TakesPillowsFilterWhereItIsNamed) {
    SegmentationSettings settings{.height = 15,
                                  .width = 20,
                                  .long_side = 60,
                                  .short_side = 15,
                                  .ratio = {1, 1},
                                  .filter = Filter::bilinear,
                                  .largest_class = 1,
                                  .flip = 0,
                                  .photometric = false};
    const Image image = test::picture(40, 30, 3);
    SegmentationWorkspace workspace;
    const SegmentationTransform transform(settings);
    const Geometry geometry = transform.draw({40, 30}, {}, key_of(0), workspace);
    EXPECT_EQ(transform.augment(image, geometry, key_of(0), workspace),
              resize(image, 20, 15, Filter::bilinear));
}

TEST(SegmentationTransform, RefusesSettingsThatMakeNoSense) {
    const auto message = [](SegmentationSettings settings) {
        return data_test::error_of([&] { SegmentationTransform{settings}; });
    };
    EXPECT_THAT(message({.short_side = 0}), HasSubstr("short_side"));
    EXPECT_THAT(message({.long_side = 100}), HasSubstr("found 512 and 100"));
    EXPECT_THAT(message({.ratio = {0, 1}}), HasSubstr("resize_ratio"));
    EXPECT_THAT(message({.largest_class = 0}), HasSubstr("largest_class"));
    EXPECT_THAT(message({.flip = 2}), HasSubstr("flip"));
}

TEST(LabelImageTarget, RefusesMixedImages) {
    Targets targets;
    const std::vector<MixDraw> mixed(2);
    EXPECT_THAT(data_test::error_of([&] {
                    label_image_target({2, 2})->collate(mixed, targets);
                }),
                HasSubstr("expected images that are not mixed"));
}

}  // namespace
}  // namespace cait
