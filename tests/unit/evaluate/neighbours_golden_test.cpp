// Neighbours, rankings and the conditional score of 2,000 vectors against NumPy: exactly where rows
// tie, and where they do not.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/nearest.h"
#include "evaluate/neighbour_scores.h"
#include "golden/golden_case.h"
#include "golden/pattern.h"

namespace cait {
namespace {

constexpr std::size_t kCount = 2000, kDim = 64;
constexpr std::int64_t kFine = 20, kCoarse = 4;

// The same as tests/golden/make_neighbours.py makes.
struct Made {
    Vectors vectors{kCount, kDim, {}};
    MatchedLevel fine{"fine", kFine, {}, {}}, coarse{"coarse", kCoarse, {}, {}};

    explicit Made(bool ties) {
        const std::uint64_t labels = golden::hash_of("neighbour labels");
        const std::uint64_t noise = golden::hash_of("neighbour noise");
        const std::uint64_t centres = golden::hash_of("neighbour centres");
        for (std::size_t row = 0; row < kCount; ++row) {
            const auto label =
                std::int64_t(std::floor((golden::uniform(labels, row) + 1) / 2 * kFine));
            fine.collection.push_back(label);
            coarse.collection.push_back(label / (kFine / kCoarse));
            for (std::size_t i = 0; i < kDim; ++i) {
                const double mixed = golden::uniform(noise, row * kDim + i) +
                                     0.5 * golden::uniform(centres, std::size_t(label) * kDim + i);
                vectors.values.push_back(ties ? (mixed >= 0 ? 0.125F : -0.125F) : float(mixed));
            }
        }
        fine.queries = fine.collection;
        coarse.queries = coarse.collection;
        if (!ties) normalise(vectors, "test");
    }

    // Every vector asks for the others.
    NeighbourTask task() const {
        NeighbourTask task{vectors, vectors, {}, 2};
        for (std::size_t row = 0; row < kCount; ++row) task.same.push_back(std::int64_t(row));
        return task;
    }
};

void expect_equal(const Retrieval& found, const nlohmann::json& numpy, double tolerance) {
    EXPECT_EQ(found.queries, numpy["queries"].get<std::size_t>());
    EXPECT_EQ(found.left_out, kCount - found.queries);
    EXPECT_NEAR(found.map, numpy["map"].get<double>(), tolerance);
    EXPECT_NEAR(found.r_precision, numpy["r_precision"].get<double>(), tolerance);
    EXPECT_NEAR(found.map_at_r, numpy["map_at_r"].get<double>(), tolerance);
    EXPECT_EQ(found.recall_at.size(), 3U);
    for (const auto& [k, recall] : found.recall_at)
        EXPECT_NEAR(recall, numpy["recall_at"][std::to_string(k)].get<double>(), tolerance) << k;
}

class Neighbours : public testing::TestWithParam<const char*> {
protected:
    const bool ties_ = std::string(GetParam()) == "ties";
    const Made made_{ties_};
    const nlohmann::json numpy_ = golden::read_json("neighbours.json")[GetParam()];
};

TEST_P(Neighbours, ClassifyAsNumPyDoes) {
    const auto scores = knn_at_levels(made_.task(), {made_.fine}, KnnRule::grafit());
    ASSERT_EQ(scores.front().size(), 5U);
    for (const KnnScore& score : scores.front())
        EXPECT_EQ(score.top1, numpy_["knn"][std::to_string(score.k)].get<double>() / kCount)
            << score.k;
    const auto dino = knn_at_levels(made_.task(), {made_.fine}, {0.07, {100}});
    EXPECT_EQ(dino[0][0].top1, numpy_["dino_100"].get<double>() / kCount);
}

TEST_P(Neighbours, AreRankedAsNumPyDoes) {
    // Sums are added in another order than NumPy's. Without ties a product in float32 may exchange
    // two neighbours whose float64 products differ in the eighth digit.
    const double tolerance = ties_ ? 1e-14 : 2e-7;
    RetrievalOptions options;
    options.coarse = &made_.coarse;
    const auto found = retrieval_at_levels(made_.task(), {made_.fine, made_.coarse}, options);
    expect_equal(found[0].plain, numpy_["fine"], tolerance);
    expect_equal(found[1].plain, numpy_["coarse"], tolerance);
    expect_equal(*found[0].conditional, numpy_["conditional"], ties_ ? 1e-14 : 2e-6);
    expect_equal(*found[0].oracle, numpy_["oracle"], ties_ ? 1e-14 : 2e-6);
}

// Whoever gives the probabilities of the coarse classes: with those of the kNN rule it is the same.
TEST_P(Neighbours, AreRankedByGivenProbabilities) {
    const KnnRule rule;
    const std::vector<Neighbour> nearest = task_neighbours(made_.task(), rule);
    std::vector<double> probabilities, sure;
    for (std::size_t q = 0; q < kCount; ++q) {
        for (const double vote : knn_votes(std::span(nearest).subspan(q * 30, 30),
                                           made_.coarse.collection, kCoarse, rule.temperature))
            probabilities.push_back(vote);
        for (std::int64_t c = 0; c < kCoarse; ++c)
            sure.push_back(c == made_.coarse.queries[q] ? 1.0 : 0.0);
    }
    RetrievalOptions options;
    options.coarse = &made_.coarse;
    options.coarse_probabilities = probabilities;
    expect_equal(*retrieval_at_levels(made_.task(), {made_.fine}, options)[0].conditional,
                 numpy_["conditional"], 2e-6);
    // Knows as much as the oracle. Its scores are about 14, where float32 rounds cosines to 1e-6.
    options.coarse_probabilities = sure;
    expect_equal(*retrieval_at_levels(made_.task(), {made_.fine}, options)[0].conditional,
                 numpy_["oracle"], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Numpy, Neighbours, testing::Values("ties", "smooth"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cait
