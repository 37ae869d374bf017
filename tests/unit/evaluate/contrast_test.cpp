// Statistics against SciPy's numbers (tests/golden/make_statistics.py), and the verdicts.
#include "evaluate/contrast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cait/error.h"
#include "evaluate/student_t.h"
#include "golden/golden_case.h"

namespace cait {
namespace {

nlohmann::json scipy() { return golden::read_json("statistics.json"); }

// To 1e-9 of the value; where it is tiny, of 1e-12.
void expect_as_scipy(double found, const nlohmann::json& expected) {
    const double value = expected.get<double>();
    EXPECT_NEAR(found, value, 1e-9 * std::max(std::fabs(value), 1e-3));
}

TEST(Contrast, StudentsDistributionIsScipys) {
    const nlohmann::json numbers = scipy();
    for (const auto& one : numbers["quantiles"])
        expect_as_scipy(student_quantile(one["p"], one["df"]), one["t"]);
    for (const auto& one : numbers["cdfs"]) {
        expect_as_scipy(student_cdf(one["t"], one["df"]), one["cdf"]);
        expect_as_scipy(student_two_sided(one["t"], one["df"]), one["two_sided"]);
    }
    for (const auto& one : numbers["betas"])
        expect_as_scipy(incomplete_beta(one["a"], one["b"], one["x"]), one["value"]);
    EXPECT_EQ(numbers["quantiles"].size(), 42U);
    EXPECT_EQ(numbers["cdfs"].size(), 42U);
    EXPECT_EQ(numbers["betas"].size(), 72U);
}

TEST(Contrast, IntervalsAndPairsAreScipys) {
    const nlohmann::json numbers = scipy();
    for (const auto& one : numbers["intervals"]) {
        const std::vector<double> values = one["values"];
        const MeanInterval interval = mean_interval(values);
        EXPECT_EQ(interval.count, values.size());
        expect_as_scipy(interval.mean, one["mean"]);
        expect_as_scipy(*interval.deviation, one["deviation"]);
        expect_as_scipy(*interval.low, one["low"]);
        expect_as_scipy(*interval.high, one["high"]);
        expect_as_scipy(*paired_p(values), one["p"]);
    }
    for (const auto& one : numbers["pairs"]) {
        const std::vector<double> a = one["a"], b = one["b"];
        std::vector<double> differences;
        for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
        expect_as_scipy(*paired_p(differences), one["p"]);
    }
    EXPECT_EQ(numbers["intervals"].size(), 10U);
    EXPECT_EQ(numbers["pairs"].size(), 3U);
}

TEST(Contrast, HolmsCorrectionIsItsDefinition) {
    const nlohmann::json numbers = scipy();
    for (const auto& one : numbers["holm"]) {
        const std::vector<double> p = one["p"], adjusted = holm(p);
        ASSERT_EQ(adjusted.size(), p.size());
        for (std::size_t i = 0; i < p.size(); ++i) expect_as_scipy(adjusted[i], one["adjusted"][i]);
    }
    EXPECT_EQ(numbers["holm"].size(), 4U);
    EXPECT_TRUE(holm({}).empty());
}

TEST(Contrast, VerdictsNeedIntervalAndMargin) {
    const auto verdict = [](double low, double high, double margin,
                            std::optional<double> adjusted = {}) {
        MeanInterval interval{.count = 3};
        interval.mean = (low + high) / 2;
        interval.low = low;
        interval.high = high;
        return verdict_of(interval, margin, adjusted);
    };
    EXPECT_EQ(verdict(0.01, 0.03, 0.02), Verdict::shown);
    EXPECT_EQ(verdict(0.01, 0.03, 0.021), Verdict::open);  // above 0, below the margin
    EXPECT_EQ(verdict(-0.01, 0.09, 0.02), Verdict::open);
    EXPECT_EQ(verdict(-0.03, -0.01, 0.02), Verdict::contradicted);
    EXPECT_EQ(verdict(0.01, 0.03, 0.02, 0.049), Verdict::shown);
    EXPECT_EQ(verdict(0.01, 0.03, 0.02, 0.05), Verdict::open);
    EXPECT_EQ(verdict(-0.03, -0.01, 0.02, 0.2), Verdict::open);
    EXPECT_EQ(verdict_of({.count = 1, .mean = 1}, 0.5), Verdict::open);  // no interval of one
}

TEST(Contrast, WhatCannotBeSaidIsNot) {
    EXPECT_THROW(mean_interval({}), Error);
    const std::vector<double> one{0.5}, same{0.25, 0.25, 0.25}, zero{0.0, 0.0};
    EXPECT_FALSE(mean_interval(one).low);
    EXPECT_FALSE(paired_p(one));
    EXPECT_EQ(*mean_interval(same).low, 0.25);
    EXPECT_EQ(paired_p(same), 0.0);
    EXPECT_EQ(paired_p(zero), 1.0);
    EXPECT_THROW(mean_interval(std::vector<double>{1, std::nan("")}), Error);
    EXPECT_THROW(student_quantile(1, 3), Error);
    EXPECT_THROW(student_cdf(1, 0), Error);
}

}  // namespace
}  // namespace cait
