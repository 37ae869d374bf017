#include "evaluate/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cait/error.h"
#include "evaluate/metrics.h"

namespace cait {
namespace {

using testing::ElementsAre;

TEST(Scores, KnowTheirDirectionAndFormat) {
    EXPECT_EQ(score_text(make_score("top1", 0.75312)), "75.31 %");
    EXPECT_EQ(score_text(make_score("loss", 1.04213)), "1.0421");
    EXPECT_GT(merit(make_score("top5", 0.9)), merit(make_score("top5", 0.8)));
    EXPECT_GT(merit(make_score("loss", 1)), merit(make_score("loss", 2)));
    EXPECT_THROW(make_score("rouge", 0.3), Error);
}

TEST(Scores, HaveNamesOfTheirOwn) {
    std::set<std::string> names;
    for (const Score& score : known_scores()) {
        EXPECT_TRUE(names.insert(score.name).second) << score.name;
        EXPECT_FALSE(is_of_average(score.name)) << score.name;
    }
}

TEST(Scores, OfAveragesHaveTheSameNameWithASuffix) {
    EXPECT_TRUE(is_of_average("loss_ema"));
    EXPECT_EQ(without_average("loss_ema"), "loss");
    EXPECT_EQ(without_average("top1"), "top1");
    EXPECT_THAT(names_to_follow(Metrics(3).scores(), false),
                ElementsAre("top1", "top5", "loss", "ece"));
    EXPECT_THAT(names_to_follow(Metrics(3).scores(), true),
                ElementsAre("top1", "top5", "loss", "ece", "top1_ema", "top5_ema", "loss_ema"));
}

TEST(Scores, OfAClassifierAreThoseOfItsMetrics) {
    Metrics metrics(2);
    metrics.add(0, std::vector<float>{2, 0}, 0);
    metrics.add(1, std::vector<float>{2, 0}, 1);
    const Scores scores = metrics.scores();
    EXPECT_EQ(find_score(scores, "top1")->value, 0.5);
    EXPECT_EQ(find_score(scores, "top5")->value, 1);
    EXPECT_EQ(find_score(scores, "loss")->value, metrics.loss());
    EXPECT_EQ(find_score(scores, "ece")->value, metrics.ece());
    EXPECT_EQ(find_score(scores, "map"), nullptr);
    EXPECT_THAT(main_scores(scores), testing::SizeIs(3));
}

}  // namespace
}  // namespace cait
