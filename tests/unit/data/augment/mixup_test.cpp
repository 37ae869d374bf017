#include "data/augment/mixup.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cait/error.h"
#include "unit/data/augment/goodness.h"

namespace cait {
namespace {

constexpr std::int64_t kChannels = 2;
constexpr std::int64_t kHeight = 6;
constexpr std::int64_t kWidth = 5;
constexpr std::int64_t kImage = kChannels * kHeight * kWidth;

std::vector<float> numbered(std::int64_t size) {
    std::vector<float> images(std::size_t(size * kImage));
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = float(i);
    return images;
}

// The distribution function of Beta(a, a) by Simpson's rule after x = sin²(t), which is smooth.
double beta_distribution(double x, double a) {
    const auto integral = [&](double to) {
        constexpr int kSteps = 400;
        double sum = 0;
        for (int i = 0; i <= kSteps; ++i) {
            const double t = to * i / kSteps;
            const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
            sum += weight * std::pow(std::sin(t) * std::cos(t), 2 * a - 1);
        }
        return sum * to / kSteps / 3;
    };
    return integral(std::asin(std::sqrt(x))) / integral(std::asin(1.0));
}

TEST(Mixup, SharesFollowTheBetaDistribution) {
    for (const double alpha : {0.8, 1.0, 2.5}) {
        RandomStream random(1, "beta");
        std::vector<double> shares;
        for (int i = 0; i < 5'000; ++i) shares.push_back(draw_beta(alpha, random));
        test::expect_distribution(
            shares, [=](double x) { return beta_distribution(x, alpha); }, std::to_string(alpha));
    }
}

TEST(Mixup, SwitchesAndSkipsAsOftenAsAsked) {
    Mixup mixup{.probability = 0.7, .switch_probability = 0.4, .mode = MixMode::element};
    RandomStream random(2, "switch");
    std::array<int, 3> counts{};  // none, mixup, cutmix
    for (const MixDraw& draw : draw_mix(mixup, 20'000, 32, 32, random)) {
        if (draw.cut)
            ++counts[2];
        else
            ++counts[draw.share == 1 ? 0 : 1];
    }
    test::expect_shares(counts, std::array{0.3, 0.7 * 0.6, 0.7 * 0.4}, "kinds");
}

TEST(Mixup, DrawsPerBatchPairOrElement) {
    Mixup mixup{.cutmix_alpha = 0};
    RandomStream random(3, "modes");
    const auto distinct = [&](MixMode mode) {
        mixup.mode = mode;
        const std::vector<MixDraw> draws = draw_mix(mixup, 8, 32, 32, random);
        std::vector<double> shares;
        for (const MixDraw& draw : draws) shares.push_back(draw.share);
        if (mode != MixMode::element) {
            for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(draws[i], draws[7 - i]);
        }
        std::sort(shares.begin(), shares.end());
        return std::unique(shares.begin(), shares.end()) - shares.begin();
    };
    EXPECT_EQ(distinct(MixMode::batch), 1);
    EXPECT_EQ(distinct(MixMode::pair), 4);
    EXPECT_EQ(distinct(MixMode::element), 8);
}

TEST(Mixup, BoxesAreCutOffAndCounted) {
    Mixup mixup{.mixup_alpha = 0, .mode = MixMode::element};
    RandomStream random(4, "boxes");
    for (const MixDraw& draw : draw_mix(mixup, 2'000, 20, 30, random)) {
        ASSERT_TRUE(draw.cut);
        EXPECT_GE(draw.box.left, 0);
        EXPECT_GE(draw.box.top, 0);
        EXPECT_LE(draw.box.left + draw.box.width, 30);
        EXPECT_LE(draw.box.top + draw.box.height, 20);
        EXPECT_DOUBLE_EQ(draw.share, 1 - double(draw.box.width * draw.box.height) / 600);
    }
    mixup.cutmix_range = Interval{0.2, 0.8};
    for (const MixDraw& draw : draw_mix(mixup, 2'000, 20, 30, random)) {
        EXPECT_GE(draw.box.width, 6);
        EXPECT_LT(draw.box.width, 24);
        EXPECT_GE(draw.box.height, 4);
        EXPECT_LT(draw.box.height, 16);
    }
}

// timm's rand_bbox goes half a side, rounded down, to either side of the centre: away from the
// border a box has even sides, the largest that fit.
TEST(Mixup, BoxesHaveEvenSidesAsInTimm) {
    Mixup mixup{.mixup_alpha = 0, .mode = MixMode::element, .correct_share = false};
    RandomStream random(4, "even boxes");
    int inside = 0, odd = 0;
    for (const MixDraw& draw : draw_mix(mixup, 2'000, 21, 31, random)) {
        const Rectangle& box = draw.box;
        if (box.left == 0 || box.top == 0 || box.left + box.width == 31 ||
            box.top + box.height == 21)
            continue;
        const double ratio = std::sqrt(1 - draw.share);
        const auto width = std::int64_t(31 * ratio), height = std::int64_t(21 * ratio);
        EXPECT_EQ(box.width, width / 2 * 2);
        EXPECT_EQ(box.height, height / 2 * 2);
        ++inside;
        odd += width % 2 + height % 2 > 0 ? 1 : 0;
    }
    EXPECT_GT(inside, 300);
    EXPECT_GT(odd, 150);
}

TEST(Mixup, BlendsWithTheReversedBatch) {
    const std::vector<MixDraw> draws{{0.25}, {1.0}, {0.5}, {0.75}};
    std::vector<float> images = numbered(4);
    apply_mix(draws, kChannels, kHeight, kWidth, images);
    const std::vector<float> before = numbered(4);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t k = 0; k < std::size_t(kImage); ++k) {
            const auto share = float(draws[i].share);
            const float own = before[i * kImage + k];
            const float partner = before[(3 - i) * kImage + k];
            EXPECT_FLOAT_EQ(images[i * kImage + k], own * share + partner * (1 - share));
        }
}

TEST(Mixup, CutsOutOfThePartner) {
    const MixDraw box{0.8, true, {1, 2, 3, 2}};
    for (const bool same : {true, false}) {
        const MixDraw other = same ? box : MixDraw{0.5, true, {0, 0, 2, 3}};
        const std::vector<MixDraw> draws{box, other};
        std::vector<float> images = numbered(2);
        apply_mix(draws, kChannels, kHeight, kWidth, images);
        const std::vector<float> before = numbered(2);
        for (std::size_t i = 0; i < 2; ++i)
            for (std::int64_t k = 0; k < kImage; ++k) {
                const std::int64_t x = k % kWidth;
                const std::int64_t y = k / kWidth % kHeight;
                const Rectangle& part = draws[i].box;
                const bool inside = x >= part.left && x < part.left + part.width && y >= part.top &&
                                    y < part.top + part.height;
                const std::size_t from = inside ? 1 - i : i;
                EXPECT_EQ(images[i * kImage + std::size_t(k)],
                          before[from * kImage + std::size_t(k)]);
            }
    }
}

TEST(Mixup, RefusesWhatMakesNoSense) {
    RandomStream random(5, "refuse");
    EXPECT_THROW(draw_mix(Mixup{}, 3, 8, 8, random), UsageError);
    EXPECT_THROW((Mixup{.mixup_alpha = -1}.check()), UsageError);
    EXPECT_THROW((Mixup{.probability = 2}.check()), UsageError);
}

}  // namespace
}  // namespace cait
