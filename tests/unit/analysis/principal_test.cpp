#include "analysis/principal.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "analysis/symmetric_eigen.h"
#include "cait/error.h"
#include "golden/golden_case.h"
#include "unit/analysis/look_pattern.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// As many rows as columns or more, and fewer: NumPy's eigenvalues of the covariance and its scores.
class PrincipalComponents : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(PrincipalComponents, AreNumPys) {
    const auto& [name, rows] = GetParam();
    const nlohmann::json numpy = golden::read_json("look.json")[name];
    const Principal found =
        principal_components(look_test::vectors("look " + std::string(name), rows, 48), "test",
                             {.threads = 2, .scores = 2});
    ASSERT_EQ(found.variances.size(), numpy["variances"].size());
    const double most = found.variances[0];
    for (std::size_t i = 0; i < found.variances.size(); ++i)
        EXPECT_NEAR(found.variances[i], numpy["variances"][i].get<double>(), 1e-13 * most) << i;
    ASSERT_GE(numpy["scores"].size(), 10U);
    for (std::size_t row = 0; row < numpy["scores"].size(); ++row)
        for (std::size_t k = 0; k < 2; ++k)
            EXPECT_NEAR(found.scores[row * 2 + k], numpy["scores"][row][k].get<double>(), 1e-10)
                << row;
}

INSTANTIATE_TEST_SUITE_P(Numpy, PrincipalComponents,
                         testing::Values(std::pair{"tall", 300}, std::pair{"wide", 20}),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(PrincipalComponents, DoNotDependOnThreads) {
    const Vectors vectors = look_test::vectors("threads", 500, 400);
    const Principal one = principal_components(vectors, "test", {.threads = 1, .scores = 2});
    const Principal three = principal_components(vectors, "test", {.threads = 3, .scores = 2});
    EXPECT_EQ(one.variances, three.variances);
    EXPECT_EQ(one.scores, three.scores);
}

TEST(PrincipalComponents, OfTwoPointsAreOneDirection) {
    const Principal found = principal_components({2, 3, {1, 2, 3, 1, 6, 6}}, "test", {});
    ASSERT_EQ(found.variances.size(), 2U);
    EXPECT_NEAR(found.variances[0], 12.5, 1e-12);
    EXPECT_NEAR(found.variances[1], 0, 1e-12);
}

TEST(PrincipalComponents, SayWhatIsWrong) {
    EXPECT_THAT(
        [] {
            principal_components({1, 2, {1, 2}}, "m.safetensors", {});
        },
        ThrowsMessage<Error>(HasSubstr("m.safetensors: expected at least 2 images")));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(
        [&] {
            principal_components({2, 2, {1, 2, nan, 4}}, "m", {});
        },
        ThrowsMessage<Error>(HasSubstr("m: vector 1: expected finite values")));
    EXPECT_THAT(
        [] {
            principal_components({9000, 9000, {}}, "m", {});
        },
        ThrowsMessage<Error>(HasSubstr("expected vectors of at most 8192 numbers")));
}

TEST(PrincipalComponents, EnergyAddsUp) {
    const std::vector<double> energy = cumulative_energy({6, 3, 1, 0});
    EXPECT_THAT(energy, testing::ElementsAre(0.6, 0.9, 1.0, 1.0));
    EXPECT_EQ(components_for(energy, 0.5), 1U);
    EXPECT_EQ(components_for(energy, 0.9), 2U);
    EXPECT_EQ(components_for(energy, 0.95), 3U);
    EXPECT_TRUE(cumulative_energy({0, 0}).empty());
    EXPECT_EQ(components_for({}, 0.9), 0U);
}

// A v = value v, at right angles, for a matrix whose first three eigenvalues are the same.
TEST(SymmetricEigen, FindsVectorsOfEqualEigenvalues) {
    constexpr std::size_t kSize = 6;
    std::vector<double> matrix(kSize * kSize, 0.0);
    for (std::size_t i = 0; i < kSize; ++i) matrix[i * kSize + i] = i < 3 ? 5 : 1;
    matrix[3 * kSize + 4] = matrix[4 * kSize + 3] = 0.5;
    const EigenPairs found = symmetric_eigen(matrix, kSize, 3);
    EXPECT_THAT(found.values, testing::Pointwise(testing::DoubleNear(1e-14),
                                                 std::vector<double>{5, 5, 5, 1.5, 1, 0.5}));
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b) {
            double product = 0;
            for (std::size_t i = 0; i < kSize; ++i)
                product += found.vectors[a * kSize + i] * found.vectors[b * kSize + i];
            EXPECT_NEAR(product, a == b ? 1 : 0, 1e-12);
        }
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t i = 3; i < kSize; ++i) EXPECT_NEAR(found.vectors[a * kSize + i], 0, 1e-12);
}

TEST(SymmetricEigen, KnowsTheSecondDifferences) {
    constexpr std::size_t kSize = 300;
    std::vector<double> matrix(kSize * kSize, 0.0);
    for (std::size_t i = 0; i < kSize; ++i) {
        matrix[i * kSize + i] = 2;
        if (i > 0) matrix[i * kSize + i - 1] = matrix[(i - 1) * kSize + i] = -1;
    }
    const EigenPairs found = symmetric_eigen(matrix, kSize, 1);
    for (std::size_t i = 0; i < kSize; ++i) {
        const double angle = 3.14159265358979323846 * double(kSize - i) / double(kSize + 1);
        EXPECT_NEAR(found.values[i], 2 - 2 * std::cos(angle), 1e-12);
    }
    for (std::size_t i = 0; i < kSize; ++i) {
        double product = 0;
        for (std::size_t j = 0; j < kSize; ++j) product += matrix[i * kSize + j] * found.vectors[j];
        EXPECT_NEAR(product, found.values[0] * found.vectors[i], 1e-12);
    }
}

TEST(SymmetricEigen, TakesAnySmallMatrix) {
    EXPECT_TRUE(symmetric_eigen({}, 0, 0).values.empty());
    EXPECT_EQ(std::fabs(symmetric_eigen({3}, 1, 1).vectors.at(0)), 1);
    EXPECT_THAT(symmetric_eigen({0, 2, 2, 0}, 2, 0).values,
                testing::Pointwise(testing::DoubleNear(1e-15), std::vector<double>{2, -2}));
    EXPECT_THAT(symmetric_eigen(std::vector<double>(9, 0.0), 3, 2).values,
                testing::ElementsAre(0, 0, 0));
    for (const double one : symmetric_eigen(std::vector<double>(9, 0.0), 3, 2).vectors)
        EXPECT_TRUE(std::isfinite(one));
    EXPECT_THROW(symmetric_eigen({INFINITY}, 1, 0), Error);
}

}  // namespace
}  // namespace cait
