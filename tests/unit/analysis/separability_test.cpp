#include "analysis/separability.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cait/error.h"
#include "unit/analysis/look_pattern.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::int64_t> in_turn(std::size_t rows, std::int64_t classes) {
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < rows; ++i) labels.push_back(std::int64_t(i) % classes);
    return labels;
}

TEST(Separability, SplitsEveryClassEvenlyAndAnewEachTime) {
    const std::vector<std::int64_t> labels = in_turn(61, 3);  // 21, 20, 20
    const std::vector<std::int64_t> halves = split_classes(labels, 3, 5, 0);
    std::vector<std::size_t> counts(6, 0);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        EXPECT_EQ(halves[i] / 2, labels[i]);
        ++counts[std::size_t(halves[i])];
    }
    EXPECT_THAT(counts, testing::ElementsAre(11, 10, 10, 10, 10, 10));
    EXPECT_EQ(split_classes(labels, 3, 5, 0), halves);
    EXPECT_NE(split_classes(labels, 3, 5, 1), halves);
    EXPECT_NE(split_classes(labels, 3, 6, 0), halves);
}

// With a direction for each image a linear classifier fits any labels; with none beyond the
// classes' it can do no better than chance within them.
TEST(Separability, TellsRichVectorsFromPoorOnes) {
    constexpr std::size_t kRows = 60;
    const std::vector<std::int64_t> labels = in_turn(kRows, 3);
    Vectors rich{kRows, kRows, std::vector<float>(kRows * kRows, 0.0F)},
        poor{kRows, 3, std::vector<float>(kRows * 3, 0.0F)};
    for (std::size_t i = 0; i < kRows; ++i) {
        rich.values[i * kRows + i] = 1;
        poor.values[i * 3 + std::size_t(labels[i])] = 1;
    }
    SeparabilityOptions options;
    options.draws = 3;
    const auto most = separability(rich, labels, 3, "test", options);
    const auto least = separability(poor, labels, 3, "test", options);
    ASSERT_EQ(most.size(), 3U);
    for (const SeparabilityDraw& draw : most) {
        EXPECT_EQ(draw.top1, 1);
        EXPECT_TRUE(draw.converged);
    }
    for (const SeparabilityDraw& draw : least) EXPECT_EQ(draw.top1, 0.5);
    EXPECT_EQ(separability(rich, labels, 3, "test", options)[2].top1, most[2].top1);
}

// Vectors that know the half but not the class: a classifier of the classes makes up for it.
TEST(Separability, ConditionsOnTheCoarseClass) {
    const std::vector<std::int64_t> labels = in_turn(40, 2);
    const std::vector<std::int64_t> halves = split_classes(labels, 2, 0, 0);
    Vectors vectors{40, 1, {}};
    std::vector<double> sure, wrong;
    for (std::size_t i = 0; i < 40; ++i) {
        vectors.values.push_back(float(halves[i] % 2));
        for (std::int64_t c = 0; c < 2; ++c) {
            sure.push_back(c == labels[i] ? 0.9 : 0.1);
            wrong.push_back(c == labels[i] ? 0.1 : 0.9);
        }
    }
    SeparabilityOptions options;
    options.draws = 1;
    options.coarse = sure;
    const SeparabilityDraw found = separability(vectors, labels, 2, "test", options)[0];
    EXPECT_LE(found.top1, 0.55);
    EXPECT_EQ(found.conditional, 1);
    options.coarse = wrong;
    EXPECT_EQ(separability(vectors, labels, 2, "test", options)[0].conditional, 0);
}

TEST(Separability, SaysWhatIsWrong) {
    const Vectors vectors = look_test::vectors("few", 5, 3);
    const std::vector<std::int64_t> one(5, 1), lonely{0, 0, 1, 2, 2};
    EXPECT_THAT([&] { separability(vectors, one, 3, "m.safetensors", {}); },
                ThrowsMessage<Error>(HasSubstr("m.safetensors: expected images of at least 2")));
    EXPECT_THAT(
        [&] { separability(vectors, lonely, 3, "m", {}); },
        ThrowsMessage<Error>(HasSubstr("at least 2 images of every class, found 1 of class 1")));
}

}  // namespace
}  // namespace cait
