#include "evaluate/kmeans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/philox.h"
#include "cait/error.h"

namespace cait {
namespace {

// `per` vectors around each of `groups` random directions.
Vectors clouds(std::size_t groups, std::size_t per, std::size_t columns, float noise) {
    RandomStream random(5, "clouds");
    std::vector<float> centres(groups * columns);
    for (float& value : centres) value = random.normal();
    Vectors vectors{.rows = groups * per, .columns = columns, .values = {}};
    for (std::size_t r = 0; r < vectors.rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            vectors.values.push_back(centres[r % groups * columns + c] + noise * random.normal());
    normalise(vectors, "test");
    return vectors;
}

TEST(KMeans, FindsCloudsThatLieApart) {
    const Vectors vectors = clouds(4, 30, 16, 0.05F);
    // Two clouds may share a start; of several draws one finds all four.
    bool found = false;
    for (std::uint64_t seed = 0; seed < 8 && !found; ++seed) {
        const Clusters result = k_means(vectors, {.clusters = 4, .seed = seed});
        std::set<std::pair<std::size_t, std::int64_t>> pairs;
        for (std::size_t r = 0; r < vectors.rows; ++r) pairs.emplace(r % 4, result.of_row[r]);
        found = pairs.size() == 4;
    }
    EXPECT_TRUE(found);
}

TEST(KMeans, IsTheSameForAnyNumberOfThreadsAndLeavesNoClusterEmpty) {
    const Vectors vectors = clouds(3, 40, 8, 0.3F);
    const Clusters one = k_means(vectors, {.clusters = 30, .seed = 2, .threads = 1});
    EXPECT_EQ(one.of_row, k_means(vectors, {.clusters = 30, .seed = 2, .threads = 3}).of_row);
    const std::set<std::int64_t> used(one.of_row.begin(), one.of_row.end());
    EXPECT_EQ(used.size(), 30U);
    EXPECT_NE(one.of_row, k_means(vectors, {.clusters = 30, .seed = 3}).of_row);
}

TEST(KMeans, EqualVectorsStillFillEveryCluster) {
    Vectors vectors{.rows = 6, .columns = 2, .values = std::vector<float>(12, 0)};
    for (std::size_t r = 0; r < 6; ++r) vectors.values[2 * r] = 1;
    const Clusters result = k_means(vectors, {.clusters = 3});
    EXPECT_EQ(std::set<std::int64_t>(result.of_row.begin(), result.of_row.end()).size(), 3U);
}

// Six equal vectors and two others: whichever the clusters start from, these two end up alone. In
// one round, since later ones would put right who was moved.
TEST(KMeans, AnEmptyClusterGetsTheFarthestVector) {
    const Vectors vectors{
        .rows = 8, .columns = 2, .values = {1, 0, 1, 0, 1, 0, 1, 0, -1, 0, 1, 0, 1, 0, 0, 1}};
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const std::vector<std::int64_t> found =
            k_means(vectors, {.clusters = 3, .rounds = 1, .seed = seed}).of_row;
        for (const std::size_t alone : {4U, 7U})
            EXPECT_EQ(std::ranges::count(found, found[alone]), 1) << alone << ", seed " << seed;
    }
}

TEST(KMeans, MoreClustersThanVectorsAreRefused) {
    EXPECT_THROW(k_means(clouds(1, 3, 4, 0.1F), {.clusters = 4}), UsageError);
}

}  // namespace
}  // namespace cait
