// Goodness of fit: whether drawn numbers follow a distribution. The seeds are fixed, so a test
// either always passes or never; the limits belong to a probability of one in a thousand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cait::test {

// Kolmogorov and Smirnov: the largest distance from the distribution function.
inline void expect_distribution(std::vector<double> values,
                                const std::function<double(double)>& distribution,
                                const std::string& what) {
    ASSERT_FALSE(values.empty()) << what;
    std::sort(values.begin(), values.end());
    const auto count = double(values.size());
    double distance = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = distribution(values[i]);
        distance = std::max({distance, std::fabs(expected - double(i) / count),
                             std::fabs(expected - double(i + 1) / count)});
    }
    EXPECT_LT(distance * std::sqrt(count), 1.95) << what;
}

inline void expect_uniform(const std::vector<double>& values, double low, double high,
                           const std::string& what) {
    expect_distribution(
        values, [=](double x) { return std::clamp((x - low) / (high - low), 0.0, 1.0); }, what);
}

// Pearson's chi-square against expected shares that add up to one.
inline void expect_shares(std::span<const int> counts, std::span<const double> shares,
                          const std::string& what) {
    double total = 0;
    for (const int count : counts) total += count;
    double statistic = 0;
    int cells = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (shares[i] == 0) {
            EXPECT_EQ(counts[i], 0) << what << ": cell " << i;
            continue;
        }
        const double expected = shares[i] * total;
        statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
        ++cells;
    }
    // Wilson and Hilferty's approximation of the quantile; 3.09 is the normal one.
    const double freedom = cells - 1;
    const double root = 1 - 2 / (9 * freedom) + 3.09 * std::sqrt(2 / (9 * freedom));
    EXPECT_LT(statistic, freedom * root * root * root) << what;
}

inline void expect_equal_shares(std::span<const int> counts, const std::string& what) {
    const std::vector<double> shares(counts.size(), 1 / double(counts.size()));
    expect_shares(counts, shares, what);
}

}  // namespace cait::test
