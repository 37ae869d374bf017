#include "data/augment/detection_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cait/error.h"
#include "data/random.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

SampleKey sample_key(std::uint64_t sample) { return {.seed = 5, .sample = sample}; }

using Sides = std::pair<std::int64_t, std::int64_t>;  // width, height

Sides sides(const Extent& extent) { return {extent.width, extent.height}; }

// What is shown of an image without a crop, for each of the sizes that are drawn.
std::set<Sides> whole_sizes(DetectionSettings settings, const Extent& image) {
    settings.crop = 0;
    const DetectionTransform transform(settings);
    std::set<Sides> found;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Geometry geometry = transform.draw(image, sample_key(i));
        const Rectangle& part = geometry.scaled->part;
        EXPECT_EQ(part, (Rectangle{0, 0, part.width, part.height}));
        EXPECT_EQ(sides(geometry.scaled->whole), Sides(part.width, part.height));
        EXPECT_EQ(sides(geometry.shown), Sides(settings.width, settings.height));
        found.emplace(part.width, part.height);
    }
    return found;
}

// int(side * scale + 0.5), scale = min(1333 / long, short / short): by hand.
TEST(DetectionTransform, RoundsSizesAsMmcv) {
    EXPECT_EQ(whole_sizes({.short_sides = {480, 800}}, {640, 480}),
              (std::set<Sides>{{640, 480}, {1067, 800}}));
    EXPECT_EQ(whole_sizes({.short_sides = {800}}, {640, 427}), (std::set<Sides>{{1199, 800}}));
    // 800 / 375 = 2.133, 1333 / 640 = 2.0828: the long side decides.
    EXPECT_EQ(whole_sizes({.short_sides = {800}}, {640, 375}), (std::set<Sides>{{1333, 781}}));
    EXPECT_EQ(whole_sizes({}, {640, 480}).size(), 11U);
    EXPECT_EQ(
        whole_sizes({.height = 64, .width = 64, .short_sides = {2}, .long_side = 64}, {1000, 1}),
        (std::set<Sides>{{64, 1}}));
}

TEST(DetectionTransform, FitsEveryImageIntoWhatTheNetworkSees) {
    // 800 x 1067 into 1344 x 800: times 800 / 1067.
    EXPECT_EQ(whole_sizes({.short_sides = {800}}, {480, 640}), (std::set<Sides>{{600, 800}}));
    EXPECT_EQ(
        whole_sizes({.height = 100, .width = 50, .short_sides = {60}, .long_side = 80}, {60, 80}),
        (std::set<Sides>{{50, 67}}));
    const DetectionTransform transform({.height = 300, .width = 500});
    RandomStream random(1, "sizes");
    for (std::uint64_t i = 0; i < 500; ++i) {
        const Extent image{1 + choose(random, 2000), 1 + choose(random, 2000)};
        const auto [whole, part] = *transform.draw(image, sample_key(i)).scaled;
        ASSERT_THAT(part.width, AllOf(Ge(1), Le(500)));
        ASSERT_THAT(part.height, AllOf(Ge(1), Le(300)));
        ASSERT_THAT(part.left, AllOf(Ge(0), Le(whole.width - part.width)));
        ASSERT_THAT(part.top, AllOf(Ge(0), Le(whole.height - part.height)));
    }
}

// 640x480 resized to a short side of 600 is 800x600; its crops have sides from 384 to 600. The
// network sees enough for a tall one.
TEST(DetectionTransform, CutsOutOfAnImageOfAnotherSize) {
    const DetectionTransform transform({.height = 1344,
                                        .short_sides = {600},
                                        .crop = 1,
                                        .crop_from = {600},
                                        .crop_side = {384, 600}});
    std::set<std::int64_t> ratios;
    double left = 0, right = 0, top = 0, bottom = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
        const Geometry geometry = transform.draw({640, 480}, sample_key(i));
        const auto [whole, part] = *geometry.scaled;
        EXPECT_EQ(std::min(part.width, part.height), 600);
        // The crop is as large in the image as it was drawn: 0.8 of its sides of 800x600.
        const Box& box = geometry.part;
        const double width = (box.right - box.left) / 0.8, height = (box.bottom - box.top) / 0.8;
        EXPECT_NEAR(width, std::round(width), 1.5);
        EXPECT_THAT(width, AllOf(Ge(382.5), Le(601.5)));
        EXPECT_THAT(height, AllOf(Ge(382.5), Le(601.5)));
        EXPECT_NEAR(double(part.width) / double(part.height), width / height, 0.01);
        ratios.insert(std::llround(100 * width / height));
        left += box.left;
        right += 640 - box.right;
        top += box.top;
        bottom += 480 - box.bottom;
    }
    EXPECT_GT(ratios.size(), 50U);
    EXPECT_NEAR(left / right, 1, 0.15);  // it lies anywhere
    EXPECT_NEAR(top / bottom, 1, 0.25);
    EXPECT_GT(top, 0);
}

TEST(DetectionTransform, CropsAreNotLargerThanTheImage) {
    const DetectionTransform transform(
        {.short_sides = {50}, .long_side = 100, .crop = 1, .crop_from = {20}});
    const auto [whole, part] = *transform.draw({30, 20}, sample_key(0)).scaled;
    EXPECT_EQ(part, (Rectangle{0, 0, 75, 50}));
    EXPECT_EQ(sides(whole), Sides(75, 50));
}

TEST(DetectionTransform, DrawsCropsAndFlipsAsOftenAsAsked) {
    const DetectionTransform transform({.crop = 0.3, .flip = 0.7});
    int cropped = 0, mirrored = 0;
    std::map<std::int64_t, int> short_sides;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const Geometry geometry = transform.draw({640, 480}, sample_key(i));
        const auto [whole, part] = *geometry.scaled;
        const bool is_cropped = whole.width != part.width || whole.height != part.height;
        cropped += is_cropped ? 1 : 0;
        mirrored += geometry.mirrored ? 1 : 0;
        if (!is_cropped) ++short_sides[part.height];
    }
    EXPECT_NEAR(cropped / 2000.0, 0.3, 0.035);
    EXPECT_NEAR(mirrored / 2000.0, 0.7, 0.035);
    EXPECT_EQ(short_sides.size(), 11U);
    for (const auto& [side, count] : short_sides) EXPECT_NEAR(count, 1400 / 11, 45) << side;
}

// At the image's own size nothing is interpolated.
TEST(DetectionTransform, PadsAtTheRightAndAtTheBottom) {
    DetectionSettings settings{.height = 12,
                               .width = 16,
                               .short_sides = {9},
                               .long_side = 14,
                               .crop = 0,
                               .flip = 0,
                               .mean = {0, 0, 0},
                               .std = {1, 1, 1}};
    const Image image = test::picture(14, 9, 3);
    DetectionWorkspace workspace;
    for (const bool mirrored : {false, true}) {
        settings.flip = mirrored ? 1 : 0;
        std::vector<float> out(3 * 12 * 16, 7);
        const Geometry geometry =
            DetectionTransform(settings).apply(image, sample_key(1), workspace, out);
        EXPECT_EQ(geometry.mirrored, mirrored);
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t y = 0; y < 12; ++y)
                for (std::int64_t x = 0; x < 16; ++x) {
                    const std::int64_t from = mirrored ? 13 - x : x;
                    const float expected =
                        x < 14 && y < 9 ? float(image.row(y)[3 * from + c]) / 255 : 0;
                    ASSERT_FLOAT_EQ(out[std::size_t((c * 12 + y) * 16 + x)], expected);
                }
    }
}

TEST(DetectionTransform, ChangesColoursAsOftenAsAsked) {
    DetectionSettings settings{.height = 30,
                               .width = 40,
                               .short_sides = {30},
                               .long_side = 40,
                               .crop = 0,
                               .flip = 0,
                               .photometric = 0.5};
    const DetectionTransform some(settings);
    settings.photometric = 0;
    const DetectionTransform none(settings);
    const Image image = test::picture(40, 30, 3);
    DetectionWorkspace workspace;
    std::vector<float> plain(3 * 30 * 40), coloured(plain.size());
    none.apply(image, sample_key(0), workspace, plain);
    int changed = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
        some.apply(image, sample_key(i), workspace, coloured);
        changed += coloured == plain ? 0 : 1;
    }
    EXPECT_NEAR(changed / 300.0, 0.5 * 15 / 16, 0.09);
}

TEST(DetectionTransform, NamesTheSettingThatIsWrong) {
    const auto wrong = [](const DetectionSettings& settings) {
        try {
            settings.check();
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    EXPECT_EQ(wrong({}), "nothing");
    EXPECT_THAT(wrong({.height = 0}), HasSubstr("image size: expected at least 1x1"));
    EXPECT_THAT(wrong({.short_sides = {}}), HasSubstr("short_sides: expected at least one size"));
    EXPECT_THAT(wrong({.short_sides = {1400}}), HasSubstr("short_sides: expected sizes from 1 to"));
    EXPECT_THAT(wrong({.crop_from = {0}}), HasSubstr("crop_from: expected sizes from 1"));
    EXPECT_THAT(wrong({.crop = 1.5}), HasSubstr("crop: expected a probability"));
    EXPECT_THAT(wrong({.crop_side = {9, 8}}), HasSubstr("crop_side: expected 1 <= low <= high"));
    EXPECT_THAT(wrong({.flip = -1}), HasSubstr("flip: expected a probability"));
    EXPECT_THAT(wrong({.photometric = 2}), HasSubstr("photometric: expected a probability"));
}

}  // namespace
}  // namespace cait
