#include "data/augment/multi_crop.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "cait/error.h"
#include "support/case_count.h"
#include "support/source_path.h"
#include "unit/data/augment/goodness.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

std::filesystem::path views_data() {
    return test::source_path(__FILE__).parent_path().parent_path() / "data/views.safetensors";
}

std::vector<double> numbers(const std::string& text) {
    std::vector<double> values;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) values.push_back(std::stod(word));
    return values;
}

// The draw that the name of a stored tensor tells.
ViewDraw draw_of(const std::vector<std::string>& words) {
    const std::vector<double> part = numbers(words[2]);
    ViewDraw drawn;
    drawn.part = {std::int64_t(part[0]), std::int64_t(part[1]), std::int64_t(part[2]),
                  std::int64_t(part[3])};
    drawn.mirrored = words[3] == "1";
    if (words[4] != "-") {
        ColourJitter::Draw jitter;
        for (std::size_t i = 0; i < 4; ++i) {
            jitter.order[i] = int(numbers(words[4])[i]);
            jitter.factors[i] = numbers(words[5])[i];
        }
        drawn.jitter = jitter;
    }
    drawn.grey = words[6] == "1";
    if (words[7] != "0") drawn.radius = std::stod(words[7]);
    drawn.solarized = words[8] == "1";
    return drawn;
}

TEST(MultiCrop, EqualsPillowAndTorchvisionInTheOrderOfTheOfficialCode) {
    const MultiCrop crops{MultiCropSettings{}};
    MultiCropWorkspace workspace;
    test::CaseCount cases(9);
    for (const test::Golden& golden : test::golden(views_data(), "view")) {
        const auto [width, height] = test::sizes(golden.words[1]);
        const Image& found =
            crops.augment(picture(50, 37, 3), draw_of(golden.words), {height, width}, workspace);
        const test::Difference difference = test::compare(found, golden.image());
        EXPECT_EQ(difference.most, 0) << golden.name() << ": " << difference.equal_share;
        ++cases;
    }
}

TEST(MultiCrop, DrawsWithTheChancesOfEachKindOfView) {
    MultiCropSettings settings;
    const MultiCrop crops(settings);
    constexpr int kSamples = 4000;
    const std::array<std::uint64_t, 4> views{0, 1, 2, 9};
    const std::array<std::size_t, 4> kinds{0, 1, 2, 2};
    for (std::size_t i = 0; i < views.size(); ++i) {
        std::array<int, 5> counts{};
        std::vector<double> shares, radii;
        for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
            const ViewDraw drawn = crops.draw(400, 400, {5, 0, sample, 0, views[i]});
            counts[0] += drawn.mirrored;
            counts[1] += drawn.jitter.has_value();
            counts[2] += drawn.grey;
            counts[3] += drawn.radius.has_value();
            counts[4] += drawn.solarized;
            if (drawn.radius) radii.push_back(*drawn.radius);
            shares.push_back(double(drawn.part.width * drawn.part.height) / (400 * 400));
        }
        const std::array<double, 5> expected{settings.flip, settings.jitter_probability,
                                             settings.grey, settings.blur[kinds[i]],
                                             settings.solarize[kinds[i]]};
        for (std::size_t k = 0; k < counts.size(); ++k) {
            const std::array<int, 2> both{counts[k], kSamples - counts[k]};
            const std::array<double, 2> chances{expected[k], 1 - expected[k]};
            if (expected[k] == 0 || expected[k] == 1)
                EXPECT_EQ(counts[k], int(expected[k] * kSamples)) << i << " " << k;
            else
                test::expect_shares(both, chances, fmt::format("view {} chance {}", i, k));
        }
        test::expect_uniform(radii, 0.1, 2, "radius");
        const auto [low, high] = std::ranges::minmax(shares);
        const bool local = kinds[i] == 2;
        EXPECT_NEAR(low, local ? 0.05 : 0.4, 0.01);
        EXPECT_NEAR(high, local ? 0.4 : 1, 0.02);
    }
}

TEST(MultiCrop, ChancesOfOneViewAreIndependent) {
    const MultiCrop crops{MultiCropSettings{.blur = {0.5, 0.5, 0.5}, .solarize = {0.5, 0.5, 0.5}}};
    std::array<int, 4> counts{};
    for (std::uint64_t sample = 0; sample < 4000; ++sample) {
        const ViewDraw drawn = crops.draw(64, 64, {5, 0, sample, 0, 1});
        ++counts[std::size_t(drawn.radius.has_value()) + 2 * std::size_t(drawn.solarized)];
    }
    test::expect_equal_shares(counts, "blur and solarize");
}

TEST(MultiCrop, EveryPartOfTheKeyMatters) {
    const MultiCrop crops{MultiCropSettings{.global_size = {24, 24}, .local_size = {12, 8}}};
    MultiCropWorkspace workspace;
    const Image image = picture(50, 37, 3);
    std::set<std::vector<float>> seen;
    const auto view = [&](const SampleKey& key) {
        const ImageSize size = crops.size(key.view);
        std::vector<float> out(std::size_t(3 * size.height * size.width));
        crops.apply(image, key, workspace, out);
        return out;
    };
    for (const SampleKey& key :
         {SampleKey{1, 0, 0, 0, 0}, SampleKey{2, 0, 0, 0, 0}, SampleKey{1, 1, 0, 0, 0},
          SampleKey{1, 0, 1, 0, 0}, SampleKey{1, 0, 0, 1, 0}, SampleKey{1, 0, 0, 0, 1},
          SampleKey{1, 0, 0, 0, 2}, SampleKey{1, 0, 0, 0, 3}})
        EXPECT_TRUE(seen.insert(view(key)).second);
    EXPECT_EQ(view({1, 0, 0, 0, 3}).size(), 3U * 12 * 8);
    EXPECT_EQ(view({1, 0, 0, 0, 3}), view({1, 0, 0, 0, 3}));
}

TEST(MultiCrop, RefusesNonsense) {
    const auto refuses = [](const MultiCropSettings& settings) {
        EXPECT_THROW(MultiCrop{settings}, UsageError);
    };
    refuses({.globals = 0});
    refuses({.locals = -1});
    refuses({.local_size = {0, 8}});
    refuses({.local_scale = {0.5, 0.2}});
    refuses({.flip = 1.5});
    refuses({.blur = {1, 2, 0}});
    refuses({.radius = {0, 1}});
    EXPECT_THROW((MultiCrop{MultiCropSettings{.std = {0, 1, 1}}}), UsageError);
}

}  // namespace
}  // namespace cait
