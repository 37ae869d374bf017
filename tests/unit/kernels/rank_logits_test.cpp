// The largest logits of a row and the sum of their exponentials, by every table that this processor
// can run, against sorting and double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/dispatch.h"
#include "unit/kernels/reference.h"

namespace cait::kernels {
namespace {

using test::Floats;
using test::random_floats;

struct Ranked {
    std::vector<std::int32_t> places;
    Floats values;
    double log_sum = 0;
    bool finite = true;
};

class RankLogits : public testing::TestWithParam<const KernelTable*> {
protected:
    // In parts that end at `cuts`.
    Ranked rank(const Floats& x, Index most, std::vector<Index> cuts = {}) const {
        std::vector<RankedLogit> best(std::size_t(most) + 1, RankedLogit{7, -7});
        LogitRow row{.best = best.data(), .most = most};
        cuts.push_back(Index(x.size()));
        Index begin = 0;
        for (const Index end : cuts) {
            GetParam()->rank_logits(x.data() + begin, end - begin, begin, row);
            begin = end;
        }
        EXPECT_EQ(best.back().index, -7) << "wrote beyond its room";
        Ranked result{{}, {}, double(row.top) + std::log(row.sum), row.finite};
        for (Index i = 0; i < row.found; ++i) {
            result.places.push_back(best[std::size_t(i)].index);
            result.values.push_back(best[std::size_t(i)].value);
        }
        return result;
    }

    static std::vector<std::int32_t> sorted_places(const Floats& x, std::size_t most) {
        std::vector<std::int32_t> places(x.size());
        std::iota(places.begin(), places.end(), 0);
        std::ranges::stable_sort(places, std::greater<>(),
                                 [&](std::int32_t i) { return x[std::size_t(i)]; });
        places.resize(std::min(most, places.size()));
        return places;
    }

    static double log_sum(const Floats& x) {
        const double top = *std::ranges::max_element(x);
        double sum = 0;
        for (const float value : x) sum += std::exp(double(value) - top);
        return top + std::log(sum);
    }
};

TEST_P(RankLogits, FindsWhatSortingFinds) {
    for (const std::int64_t count : {1, 3, 15, 16, 17, 255, 256, 257, 1000, 8192, 33333}) {
        SCOPED_TRACE(count);
        for (const double deviation : {0.1, 3.0, 60.0}) {
            const Floats x = random_floats(count, unsigned(count), deviation);
            for (const Index most : {1, 9, 40}) {
                const Ranked found = rank(x, most);
                const auto places = sorted_places(x, std::size_t(most));
                ASSERT_EQ(found.places, places);
                for (std::size_t i = 0; i < places.size(); ++i)
                    EXPECT_EQ(found.values[i], x[std::size_t(places[i])]);
                EXPECT_NEAR(found.log_sum, log_sum(x), 1e-6 * (1 + std::abs(log_sum(x))));
                EXPECT_TRUE(found.finite);
            }
        }
    }
}

// A row comes in blocks of columns.
TEST_P(RankLogits, PartsGiveWhatTheWholeGives) {
    const Floats x = random_floats(5000, 3, 4);
    const Ranked whole = rank(x, 12), parts = rank(x, 12, {1, 96, 1000, 1001, 4999});
    EXPECT_EQ(parts.places, whole.places);
    EXPECT_NEAR(parts.log_sum, whole.log_sum, 1e-6);
}

TEST_P(RankLogits, OfEqualsTheFirstComesFirst) {
    Floats x(700, 1.0F);
    x[650] = 2;
    EXPECT_EQ(rank(x, 4).places, (std::vector<std::int32_t>{650, 0, 1, 2}));
}

// Rising rows move the top in every block, falling ones never.
TEST_P(RankLogits, SumsWhereverTheTopStands) {
    Floats rising(3000), falling(3000);
    for (std::size_t i = 0; i < rising.size(); ++i) {
        rising[i] = 0.1F * float(i) - 200;
        falling[rising.size() - 1 - i] = rising[i];
    }
    EXPECT_NEAR(rank(rising, 3).log_sum, log_sum(rising), 1e-5);
    EXPECT_NEAR(rank(falling, 3).log_sum, log_sum(falling), 1e-5);
    EXPECT_EQ(rank(rising, 2).places, (std::vector<std::int32_t>{2999, 2998}));
    const Floats far_below(100, -1000.0F);
    EXPECT_NEAR(rank(far_below, 1).log_sum, -1000 + std::log(100.0), 1e-3);
}

TEST_P(RankLogits, WithoutRoomOnlyTheSumIsMade) {
    const Floats x = random_floats(500, 9);
    const Ranked found = rank(x, 0);
    EXPECT_TRUE(found.places.empty());
    EXPECT_NEAR(found.log_sum, log_sum(x), 1e-6);
}

TEST_P(RankLogits, TellsWhereAValueIsNotFinite) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()})
        for (const std::size_t place : {0U, 17U, 299U}) {
            Floats x = random_floats(300, 4);
            x[place] = bad;
            EXPECT_FALSE(rank(x, 5).finite) << bad << " at " << place;
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RankLogits, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

}  // namespace
}  // namespace cait::kernels
