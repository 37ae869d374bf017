#include "image/evaluation_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "image/preparer.h"
#include "support/case_count.h"
#include "support/source_path.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

std::filesystem::path stored() {
    return test::source_path(__FILE__).parent_path() / "../data/data" / "transforms.safetensors";
}

// Words: evaluate SOURCE SIZE RATIO MODE.
TEST(EvaluationTransform, EqualsTimm) {
    test::CaseCount count(7);
    for (const test::Golden& golden : test::golden(stored(), "evaluate")) {
        ++count;
        const auto [width, height] = test::sizes(golden.words[1]);
        EvaluationTransform transform;
        std::tie(transform.width, transform.height) = test::sizes(golden.words[2]);
        transform.crop_ratio = std::stod(golden.words[3]);
        transform.mode = parse_crop_mode(golden.words[4]);
        std::vector<float> found(std::size_t(3 * transform.width * transform.height));
        Preparer{transform}(picture(width, height, 3), found);
        EXPECT_EQ(found, golden.numbers<float>()) << golden.name();
    }
}

TEST(EvaluationTransform, RoundsTheSideDown) {
    EXPECT_EQ(side_before_crop(224, 0.875), 256);
    EXPECT_EQ(side_before_crop(224, 0.9), 248);
    EXPECT_EQ(side_before_crop(384, 1.0), 384);
    EXPECT_EQ(side_before_crop(448, 1.15), 389);
}

// Only the crop of it is computed: the whole would take 200 GB here.
TEST(EvaluationTransform, TakesAVeryLongImage) {
    std::vector<float> out(3 * 224 * 224);
    Preparer{EvaluationTransform{}}(picture(1000'000, 1, 3), out);
    EXPECT_THAT(out, testing::Each(testing::AllOf(testing::Gt(-3), testing::Lt(3))));
}

TEST(EvaluationTransform, GreyImagesFillThreeChannels) {
    EvaluationTransform transform{.height = 8, .width = 8};
    std::vector<float> out(3 * 64);
    transform.mean = {0, 0, 0};
    transform.std = {1, 1, 1};
    Preparer{transform}(picture(30, 20, 1), out);
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + 64, out.begin() + 64));
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + 64, out.begin() + 128));
}

TEST(EvaluationTransform, RefusesWhatMakesNoSense) {
    std::vector<float> out(3 * 64);
    EvaluationTransform transform{.height = 8, .width = 8};
    EXPECT_THROW(Preparer{transform}(Image{}, out), Error);
    EXPECT_THROW(Preparer{transform}(picture(9, 9, 3), std::span(out).first(10)), Error);
    transform.crop_ratio = 0;
    EXPECT_THROW(Preparer{transform}(picture(9, 9, 3), out), UsageError);
    EXPECT_THROW(parse_crop_mode("middle"), UsageError);
    EXPECT_THROW(Normaliser({0, 0, 0}, {1, 0, 1}), UsageError);
}

TEST(MeanColour, IsWhatTimmFillsWith) {
    EXPECT_EQ(mean_colour(kImageNetMean), (Colour{124, 116, 104}));
    EXPECT_EQ(mean_colour({0.5F, 0.5F, 0.5F}), (Colour{128, 128, 128}));
}

}  // namespace
}  // namespace cait
