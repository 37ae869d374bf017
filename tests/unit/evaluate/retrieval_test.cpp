// Retrieval scores of rankings that can be worked out by hand, and means over queries.
#include "evaluate/retrieval.h"

#include <gtest/gtest.h>

#include "evaluate/knn.h"
#include "evaluate/vectors.h"
#include "unit/data/support.h"

namespace cait {
namespace {

QueryRetrieval score(std::vector<std::uint32_t> places) { return score_ranking(places); }

TEST(Retrieval, ScoresOneRanking) {
    // relevant at 1, 3 and 6: precisions 1, 2/3 and 1/2
    const QueryRetrieval found = score({1, 3, 6});
    EXPECT_DOUBLE_EQ(found.average_precision, (1 + 2.0 / 3 + 0.5) / 3);
    EXPECT_DOUBLE_EQ(found.r_precision, 2.0 / 3);
    EXPECT_DOUBLE_EQ(found.map_at_r, (1 + 2.0 / 3) / 3);
    EXPECT_EQ(found.first, 1U);
    EXPECT_DOUBLE_EQ(score({1, 2, 3}).average_precision, 1);
    EXPECT_DOUBLE_EQ(score({1, 2, 3}).map_at_r, 1);
    EXPECT_DOUBLE_EQ(score({4}).average_precision, 0.25);
    EXPECT_EQ(score({4}).r_precision, 0);
    EXPECT_EQ(score({}).first, 0U);
}

TEST(Retrieval, QueriesWithNothingRelevantAreLeftOut) {
    const std::vector<QueryRetrieval> queries{score({1, 2}), score({}), score({4}), score({11})};
    const std::vector<std::size_t> places{1, 5, 10};
    const Retrieval mean = mean_retrieval(queries, places);
    EXPECT_EQ(mean.queries, 3U);
    EXPECT_EQ(mean.left_out, 1U);
    EXPECT_DOUBLE_EQ(mean.map, (1 + 0.25 + 1.0 / 11) / 3);
    EXPECT_DOUBLE_EQ(mean.recall_at[0].second, 1.0 / 3);
    EXPECT_DOUBLE_EQ(mean.recall_at[1].second, 2.0 / 3);
    EXPECT_DOUBLE_EQ(mean.recall_at[2].second, 2.0 / 3);
    EXPECT_EQ(mean_retrieval({}, places).map, 0);
}

TEST(Knn, NearerNeighboursCountMore) {
    const std::vector<std::int64_t> labels{0, 1, 1, 2};
    const std::vector<Neighbour> near{{0, 0.9}, {1, 0.5}, {2, 0.5}};
    EXPECT_EQ(knn_answer(near, labels, 0.05), 0);  // e^18 against 2 e^10
    EXPECT_EQ(knn_answer(near, labels, 5.0), 1);   // almost a plain vote
    const std::vector<double> votes = knn_votes(near, labels, 3, 5.0);
    EXPECT_NEAR(votes[0] + votes[1] + votes[2], 1, 1e-15);
    EXPECT_EQ(votes[2], 0);
    EXPECT_GT(votes[1], votes[0]);
}

TEST(Knn, OfEqualVotesTheFirstClassWins) {
    const std::vector<std::int64_t> labels{3, 1, 3, 1, 1, 3};
    const std::vector<Neighbour> near{{0, 0.7}, {1, 0.7}, {2, 0.3}, {3, 0.3}, {4, 0.1}, {5, 0.1}};
    EXPECT_EQ(knn_answer(near, labels, 0.05), 1);
}

TEST(Vectors, AreBroughtToUnitLength) {
    Vectors vectors{3, 2, {3, 4, 0, 0, -2, 0}};
    normalise(vectors, "x");
    EXPECT_EQ(vectors.values, (std::vector<float>{0.6F, 0.8F, 0, 0, -1, 0}));
    vectors.values[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(data_test::error_of([&] { normalise(vectors, "x"); }),
                testing::HasSubstr("x: vector 1: expected finite values"));
}

}  // namespace
}  // namespace cait
