#include "analysis/linear_probe.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "cait/error.h"
#include "golden/golden_case.h"
#include "unit/analysis/look_pattern.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kRows = 500, kColumns = 8, kClasses = 6;

std::vector<std::int64_t> labels() {
    const std::uint64_t hash = golden::hash_of("look labels");
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < kRows; ++i)
        result.push_back(std::int64_t(std::floor((golden::uniform(hash, i) + 1) / 2 * 2)) +
                         2 * std::int64_t(i % 3));
    return result;
}

// The same in plain float64.
double reference_loss(const Vectors& vectors, const std::vector<double>& x,
                      std::vector<double>& gradient) {
    const std::vector<std::int64_t> right = labels();
    gradient.assign(x.size(), 0.0);
    double loss = 0;
    for (std::size_t row = 0; row < vectors.rows; ++row) {
        double logits[kClasses], sum = 0;
        for (std::size_t c = 0; c < kClasses; ++c) {
            logits[c] = x[kClasses * kColumns + c];
            for (std::size_t i = 0; i < kColumns; ++i)
                logits[c] += x[c * kColumns + i] * double(vectors.row(row)[i]);
            sum += std::exp(logits[c]);
        }
        loss += (std::log(sum) - logits[right[row]]) / kRows;
        for (std::size_t c = 0; c < kClasses; ++c) {
            const double slope =
                (std::exp(logits[c]) / sum - (std::int64_t(c) == right[row])) / kRows;
            gradient[kClasses * kColumns + c] += slope;
            for (std::size_t i = 0; i < kColumns; ++i)
                gradient[c * kColumns + i] += slope * double(vectors.row(row)[i]);
        }
    }
    for (std::size_t i = 0; i < kClasses * kColumns; ++i) {
        loss += x[i] * x[i] / (2 * kRows);
        gradient[i] += x[i] / kRows;
    }
    return loss;
}

TEST(LinearProbe, LossAndGradientAreThoseOfFloat64) {
    const LinearProbe probe(look_test::vectors("look probe", kRows, kColumns), "test", 2);
    std::vector<double> x(kClasses * (kColumns + 1)), expected, found(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.7 * std::sin(double(7 * i + 1));
    const double loss = reference_loss(probe.scaled(), x, expected);
    EXPECT_NEAR(probe.loss(labels(), kClasses, x, found), loss, 1e-7);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(LinearProbe, EndsWhereScikitLearnEnds) {
    const nlohmann::json sklearn = golden::read_json("look.json")["probe"];
    const LinearProbe probe(look_test::vectors("look probe", kRows, kColumns), "test", 2);
    const LinearClassifier fitted = probe.fit(labels(), kClasses);
    EXPECT_TRUE(fitted.converged);
    EXPECT_NEAR(fitted.loss, sklearn["loss"].get<double>(), 1e-7);
    double shift = 0;
    for (const double bias : fitted.biases) shift += bias / kClasses;
    for (std::size_t c = 0; c < kClasses; ++c) {
        EXPECT_NEAR(fitted.biases[c] - shift, sklearn["biases"][c].get<double>(), 2e-3);
        for (std::size_t i = 0; i < kColumns; ++i)
            EXPECT_NEAR(fitted.weights[c * kColumns + i], sklearn["weights"][c][i].get<double>(),
                        2e-3)
                << c << ' ' << i;
    }
    const std::vector<float> logits = probe.logits(fitted);
    std::int64_t right = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
        const auto begin = logits.begin() + std::ptrdiff_t(row * kClasses);
        right += std::max_element(begin, begin + kClasses) - begin == labels()[row] ? 1 : 0;
    }
    EXPECT_EQ(right, sklearn["right"].get<std::int64_t>());
}

TEST(LinearProbe, DoesNotDependOnThreads) {
    const Vectors vectors = look_test::vectors("many", 3000, 24);
    std::vector<std::int64_t> right;
    for (std::size_t i = 0; i < vectors.rows; ++i) right.push_back(std::int64_t(i * i % 7));
    const LinearClassifier one = LinearProbe(vectors, "test", 1).fit(right, 7),
                           three = LinearProbe(vectors, "test", 3).fit(right, 7);
    EXPECT_EQ(one.weights, three.weights);
    EXPECT_EQ(one.loss, three.loss);
}

TEST(LinearProbe, DoesNotDependOnTheSizeOfTheVectors) {
    const Vectors vectors = look_test::vectors("look probe", kRows, kColumns);
    Vectors large = vectors;
    for (float& value : large.values) value = 1000 * value + 50;
    EXPECT_NEAR(LinearProbe(large, "test").fit(labels(), kClasses).loss,
                LinearProbe(vectors, "test").fit(labels(), kClasses).loss, 1e-5);
}

// Features of networks: a few directions have most of the variance. Steps are what a probe costs.
TEST(LinearProbe, NarrowDirectionsCostFewSteps) {
    Vectors vectors = look_test::vectors("narrow", 3000, 64);
    std::vector<std::int64_t> right;
    for (std::size_t i = 0; i < vectors.rows; ++i) {
        right.push_back(std::int64_t(i * i % 11));
        for (std::size_t j = 0; j < 64; ++j)
            vectors.values[i * 64 + j] *= float(std::pow(0.9, double(j)));
    }
    const LinearClassifier fitted = LinearProbe(vectors, "test", 2).fit(right, 11);
    EXPECT_TRUE(fitted.converged);
    EXPECT_LT(fitted.iterations, 50U);
}

TEST(LinearProbe, SaysWhatIsWrong) {
    EXPECT_THAT(
        [] {
            LinearProbe({1, 2, {1, 2}}, "m.safetensors");
        },
        ThrowsMessage<Error>(HasSubstr("m.safetensors: expected at least 2 images")));
    EXPECT_THAT(
        [] {
            LinearProbe({3, 1, {4, 4, 4}}, "m");
        },
        ThrowsMessage<Error>(HasSubstr("all 3 images have the same vector")));
    EXPECT_THAT(
        [] {
            LinearProbe({2, 1, {4, std::nanf("")}}, "m");
        },
        ThrowsMessage<Error>(HasSubstr("m: vector 1: expected finite values")));
}

TEST(Lbfgs, FindsTheEndOfACurvedValley) {
    const LbfgsResult found = minimise(
        [](std::span<const double> x, std::span<double> gradient) {
            const double a = 1 - x[0], b = x[1] - x[0] * x[0];
            gradient[0] = -2 * a - 400 * x[0] * b;
            gradient[1] = 200 * b;
            return a * a + 100 * b * b;
        },
        {-1.2, 1}, {.gradient = 1e-10, .decrease = 0});
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.x[0], 1, 1e-8);
    EXPECT_NEAR(found.x[1], 1, 1e-8);
    EXPECT_LT(found.iterations, 100U);
}

TEST(Lbfgs, EndsAtTheSamePlaceInFewerStepsWithAPreconditioner) {
    constexpr std::size_t kSize = 50;
    const auto curvature = [](std::size_t i) { return std::pow(10, -0.1 * double(i)); };
    const SmoothFunction bowl = [&](std::span<const double> x, std::span<double> gradient) {
        double value = 0;
        for (std::size_t i = 0; i < kSize; ++i) {
            gradient[i] = curvature(i) * (x[i] - 1);
            value += curvature(i) * (x[i] - 1) * (x[i] - 1) / 2;
        }
        return value;
    };
    LbfgsOptions options{.gradient = 1e-10, .decrease = 0};
    const LbfgsResult plain = minimise(bowl, std::vector<double>(kSize, 0.0), options);
    options.precondition = [&](std::span<double> slopes) {
        for (std::size_t i = 0; i < kSize; ++i) slopes[i] *= 7 / curvature(i);
    };
    const LbfgsResult helped = minimise(bowl, std::vector<double>(kSize, 0.0), options);
    EXPECT_TRUE(helped.converged);
    EXPECT_LT(5 * helped.iterations, plain.iterations);
    EXPECT_NEAR(plain.value, helped.value, 1e-9);
    for (std::size_t i = 0; i < kSize; ++i) EXPECT_NEAR(helped.x[i], 1, 1e-4);
}

TEST(Lbfgs, StopsAfterSoManyIterations) {
    const LbfgsResult found = minimise(
        [](std::span<const double> x, std::span<double> gradient) {
            gradient[0] = -std::exp(-x[0]);
            return std::exp(-x[0]);  // falls for ever
        },
        {0}, {.iterations = 3, .gradient = 0, .decrease = 0});
    EXPECT_FALSE(found.converged);
    EXPECT_EQ(found.iterations, 3U);
}

}  // namespace
}  // namespace cait
