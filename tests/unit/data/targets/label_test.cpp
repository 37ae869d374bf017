#include "data/targets/label.h"

#include <gtest/gtest.h>

#include "cait/error.h"
#include "support/case_count.h"
#include "support/source_path.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

// Words: targets SHARE SMOOTHING, or "element" for shares of 0.2, 0.9, 0.5, 1.
TEST(LabelTarget, MixedRowsEqualTimms) {
    const std::vector<std::int64_t> labels{3, 0, 2, 2};
    const auto file =
        test::source_path(__FILE__).parent_path() / "../data" / "transforms.safetensors";
    test::CaseCount count(4);
    for (const test::Golden& golden : test::golden(file, "targets")) {
        ++count;
        const SoftLabels soft{.classes = 5, .smoothing = std::stod(golden.words[2])};
        std::vector<MixDraw> draws{{0.2}, {0.9}, {0.5}, {1.0}};
        if (golden.words[1] != "element") draws.assign(4, MixDraw{std::stod(golden.words[1])});
        std::vector<float> found(20);
        mix_labels(soft, draws, labels, found);
        const std::vector<float> expected = golden.numbers<float>();
        for (std::size_t i = 0; i < 20; ++i)
            EXPECT_NEAR(found[i], expected[i], 1e-6) << golden.name() << " at " << i;
    }
}

TEST(LabelTarget, PlainRowsNeedNoDraws) {
    const SoftLabels soft{.classes = 4, .smoothing = 0.1};
    std::vector<float> found(4);
    mix_labels(soft, {}, std::vector<std::int64_t>{1}, found);
    EXPECT_FLOAT_EQ(found[1], 0.925F);
    EXPECT_FLOAT_EQ(found[0], 0.025F);
}

TEST(LabelTarget, RefusesLabelsOutsideTheClasses) {
    std::vector<float> rows(1000);
    EXPECT_THROW((SoftLabels{.smoothing = 1}.check()), UsageError);
    EXPECT_THROW((SoftLabels{.classes = 0}.check()), UsageError);
    EXPECT_THROW(label_target(SoftLabels{.classes = 0}), UsageError);
    EXPECT_THROW(mix_labels(SoftLabels{}, {}, std::vector<std::int64_t>{1000}, rows), Error);
    EXPECT_THROW(mix_labels(SoftLabels{}, {}, std::vector<std::int64_t>{kUnlabelled}, rows), Error);
    EXPECT_THROW(mix_labels(SoftLabels{}, {}, std::vector<std::int64_t>{1, 1}, rows), Error);
}

}  // namespace
}  // namespace cait
