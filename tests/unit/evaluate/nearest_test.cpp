// The nearest rows and the places in a ranking against plain sorting, and what is refused.
#include "evaluate/nearest.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/philox.h"
#include "evaluate/ranking.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Vectors random_vectors(std::size_t rows, std::size_t columns, std::uint64_t seed, bool coarse) {
    RandomStream random(seed, "vectors");
    Vectors vectors{rows, columns, {}};
    for (std::size_t i = 0; i < rows * columns; ++i) {
        const double value = random.uniform() * 2 - 1;
        vectors.values.push_back(coarse ? float(int(value * 3)) : float(value));
    }
    return vectors;
}

double product(const Vectors& a, std::size_t i, const Vectors& b, std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < a.columns; ++c) sum += double(a.row(i)[c]) * double(b.row(j)[c]);
    return sum;
}

// Rows by falling product, of equals the lower one.
std::vector<std::uint32_t> sorted_rows(const Vectors& queries, std::size_t q, const Vectors& rows,
                                       std::int64_t skip) {
    std::vector<std::uint32_t> order(rows.rows);
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::uint32_t row) { return std::int64_t(row) == skip; });
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::uint32_t row) { return product(queries, q, rows, row); });
    return order;
}

// Small whole numbers are exact in every order of summation and tie a lot.
TEST(Nearest, EqualsSorting) {
    for (const std::size_t columns : {1U, 7U, 64U, 200U, 300U})
        for (const std::size_t rows : {3U, 95U, 96U, 97U, 1003U, 2100U}) {
            const Vectors queries = random_vectors(37, columns, 1, true);
            const Vectors collection = random_vectors(rows, columns, 2, true);
            const std::size_t k = std::min<std::size_t>(rows, 30);
            const auto found = nearest(queries, collection, {.k = k, .threads = 2});
            for (std::size_t q = 0; q < queries.rows; ++q) {
                const auto expected = sorted_rows(queries, q, collection, -1);
                for (std::size_t i = 0; i < k; ++i) {
                    ASSERT_EQ(found[q * k + i].row, expected[i])
                        << columns << " " << rows << " " << q << " " << i;
                    ASSERT_EQ(found[q * k + i].similarity,
                              product(queries, q, collection, expected[i]));
                }
            }
        }
}

TEST(Nearest, ThreadsChangeNothing) {
    const Vectors queries = random_vectors(300, 48, 3, false);
    const Vectors collection = random_vectors(5000, 48, 4, false);
    const auto one = nearest(queries, collection, {.k = 12, .threads = 1});
    EXPECT_EQ(one, nearest(queries, collection, {.k = 12, .threads = 3}));
    for (std::size_t q = 0; q < queries.rows; ++q) {
        const auto expected = sorted_rows(queries, q, collection, -1);
        for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(one[q * 12 + i].row, expected[i]);
    }
}

TEST(Nearest, LeavesOutItself) {
    const Vectors both = random_vectors(50, 8, 5, true);
    std::vector<std::int64_t> self(50);
    std::iota(self.begin(), self.end(), 0);
    const auto found = nearest(both, both, {.k = 49, .threads = 2, .skip = self});
    for (std::size_t q = 0; q < 50; ++q)
        for (std::size_t i = 0; i < 49; ++i) EXPECT_NE(found[q * 49 + i].row, q);
    EXPECT_THAT(data_test::error_of([&] { nearest(both, both, {.k = 50, .skip = self}); }),
                HasSubstr("k: expected 1 to 49"));
}

// Finite vectors whose products are not: fewer than k rows would have a similarity.
TEST(Nearest, RefusesProductsThatOverflow) {
    const Vectors query{1, 2, {3e38F, 3e38F}}, rows{3, 2, {-3e38F, -3e38F, 1, 0, -3e38F, 0}};
    EXPECT_THAT(data_test::error_of([&] { nearest(query, rows, {.k = 3, .threads = 1}); }),
                HasSubstr("expected finite numbers"));
}

TEST(Nearest, RefusesWhatDoesNotFit) {
    const Vectors queries = random_vectors(2, 8, 1, true), rows = random_vectors(5, 8, 2, true);
    const auto refused = [&](const Vectors& collection, std::size_t k) {
        return data_test::error_of([&] { nearest(queries, collection, {.k = k}); });
    };
    EXPECT_THAT(refused(rows, 6), HasSubstr("k: expected 1 to 5 neighbours"));
    EXPECT_THAT(refused(rows, 0), HasSubstr("found 0"));
    EXPECT_THAT(refused({0, 8, {}}, 1), HasSubstr("the collection is empty"));
    EXPECT_THAT(refused(random_vectors(5, 9, 2, true), 1),
                HasSubstr("the queries have 8 numbers each, the collection's vectors 9"));
}

TEST(Ranking, PlacesEqualSorting) {
    for (const std::size_t rows : {5U, 97U, 2500U}) {
        const Vectors queries = random_vectors(41, 24, 6, true);
        const Vectors collection = random_vectors(rows, 24, 7, true);
        RandomStream random(8, "labels");
        std::vector<std::int64_t> asked, labels, skip;
        for (std::size_t i = 0; i < 41; ++i) {
            asked.push_back(std::int64_t(random.uniform() * 6));  // 5: nothing is relevant
            skip.push_back(i % 3 == 0 ? -1 : std::int64_t(i % rows));
        }
        for (std::size_t i = 0; i < rows; ++i) labels.push_back(std::int64_t(random.uniform() * 5));
        std::vector<std::vector<std::uint32_t>> found(41);
        rank_relevant(queries, collection, std::vector<Ranking>{{asked, labels}},
                      {.threads = 2, .skip = skip},
                      [&](std::size_t, std::size_t q, std::span<const std::uint32_t> places) {
                          found[q].assign(places.begin(), places.end());
                      });
        for (std::size_t q = 0; q < 41; ++q) {
            const auto order = sorted_rows(queries, q, collection, skip[q]);
            std::vector<std::uint32_t> expected;
            for (std::size_t place = 0; place < order.size(); ++place)
                if (labels[order[place]] == asked[q]) expected.push_back(std::uint32_t(place + 1));
            EXPECT_EQ(found[q], expected) << rows << " " << q;
        }
    }
}

TEST(Ranking, OffsetsMoveGroups) {
    const Vectors query{1, 1, {1}}, rows{4, 1, {0.9F, 0.5F, 0.4F, -0.2F}};
    const std::vector<std::int64_t> asked{1}, labels{0, 0, 1, 1}, groups{0, 0, 1, 1};
    const std::vector<float> offsets{0, 1};
    rank_relevant(query, rows,
                  std::vector<Ranking>{{asked, labels}, {asked, labels, offsets, 2, groups}}, {},
                  [](std::size_t ranking, std::size_t, std::span<const std::uint32_t> places) {
                      if (ranking == 0)
                          EXPECT_THAT(places, ElementsAre(3, 4));
                      else  // 1.4 and 0.8 against 0.9 and 0.5
                          EXPECT_THAT(places, ElementsAre(1, 3));
                  });
}

}  // namespace
}  // namespace cait
