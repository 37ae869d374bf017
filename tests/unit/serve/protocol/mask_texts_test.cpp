#include "serve/protocol/mask_texts.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace cait::serve {
namespace {

using testing::ElementsAre;

DetectedObject with(const RunMask& mask) {
    DetectedObject object;
    object.mask = mask;
    return object;
}

// Inside is a column of its own, `at` columns from the left.
DetectedObject column(std::int64_t at) {
    std::vector<std::uint32_t> runs{std::uint32_t(10 * at), 10};
    if (at < 19) runs.push_back(std::uint32_t(10 * (19 - at)));
    return with(mask_of_counts(runs, 20, 10));
}

TEST(MaskTexts, AreThoseOfCoco) {
    const std::vector<DetectedObject> found{column(3), column(19)};
    const MaskTexts texts = mask_texts(found);
    ASSERT_EQ(texts.texts.size(), 2U);
    EXPECT_EQ(texts.left_out, 0U);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(mask_of_text(texts.texts[i], 20, 10), found[i].mask);
}

TEST(MaskTexts, TheLeastLikelyAreLeftOutWhereThereIsNoRoom) {
    const std::vector<DetectedObject> found{column(3), column(4), column(5)};
    const MaskTexts all = mask_texts(found);
    const std::size_t two = all.texts[0].size() + all.texts[1].size();
    const MaskTexts some = mask_texts(found, two);
    EXPECT_THAT(some.texts, ElementsAre(all.texts[0], all.texts[1], ""));
    EXPECT_EQ(some.left_out, 1U);
    EXPECT_THAT(mask_texts(found, two - 1).texts, ElementsAre(all.texts[0], "", ""));
    EXPECT_EQ(mask_texts(found, 0).left_out, 3U);
    EXPECT_TRUE(mask_texts({}).texts.empty());
}

// A backslash takes two bytes of JSON.
TEST(MaskTexts, BackslashesCountTwice) {
    const RunMask mask = mask_of_counts(std::vector<std::uint32_t>{23, 5, 172}, 20, 10);
    const std::vector<DetectedObject> found{with(mask)};
    const std::string text = mask_text(mask);
    ASSERT_NE(text.find('\\'), std::string::npos) << text;
    const auto escaped = text.size() + std::size_t(std::ranges::count(text, '\\'));
    EXPECT_EQ(mask_texts(found, escaped).left_out, 0U);
    EXPECT_EQ(mask_texts(found, escaped - 1).left_out, 1U);
}

}  // namespace
}  // namespace cait::serve
