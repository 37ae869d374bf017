#include "analysis/ridge_solver.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/analysis/look_pattern.h"

namespace cait {
namespace {

constexpr std::size_t kSize = 30;

// AᵀA of a few rows: most of its eigenvalues are 0.
std::vector<double> product_of(const Vectors& rows) {
    std::vector<double> matrix(kSize * kSize, 0.0);
    for (std::size_t r = 0; r < rows.rows; ++r)
        for (std::size_t i = 0; i < kSize; ++i)
            for (std::size_t j = 0; j < kSize; ++j)
                matrix[i * kSize + j] += double(rows.row(r)[i]) * double(rows.row(r)[j]);
    return matrix;
}

TEST(RidgeSolver, TimesTheMatrixGivesWhatWasThere) {
    constexpr double kRidge = 1e-3;
    const std::vector<double> matrix = product_of(look_test::vectors("rows", 7, kSize));
    const Vectors sides = look_test::vectors("sides", 4, kSize);
    std::vector<double> solved(sides.values.begin(), sides.values.end());
    RidgeSolver(matrix, kSize, kRidge).apply(solved);
    for (std::size_t row = 0; row < sides.rows; ++row)
        for (std::size_t i = 0; i < kSize; ++i) {
            double back = kRidge * solved[row * kSize + i];
            for (std::size_t j = 0; j < kSize; ++j)
                back += matrix[i * kSize + j] * solved[row * kSize + j];
            EXPECT_NEAR(back, double(sides.row(row)[i]), 1e-9) << row << ' ' << i;
        }
}

TEST(RidgeSolver, RoundingBelowTheRidgeDoesNoHarm) {
    std::vector<double> solved{1, 1};
    RidgeSolver({1, 1, 1, 1 - 1e-6}, 2, 1e-9).apply(solved);  // no such matrix, but for rounding
    for (const double value : solved) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace cait
