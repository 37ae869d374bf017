#include "analysis/symmetric_eigen.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "cait/error.h"

namespace cait {

namespace {

// Inverse iteration, at right angles to the rows of `before`: a few vectors cost less than all.
Eigen::VectorXd eigenvector(const Eigen::MatrixXd& matrix, double value, double scale,
                            const std::vector<Eigen::VectorXd>& before) {
    constexpr int kSteps = 4;
    // Beside the eigenvalue by a rounding, so that no pivot is 0.
    const double beside = value + scale * std::numeric_limits<double>::epsilon();
    const auto size = matrix.rows();
    const Eigen::PartialPivLU<Eigen::MatrixXd> shifted(
        matrix - beside * Eigen::MatrixXd::Identity(size, size));
    RandomStream random(before.size(), "eigenvector");
    Eigen::VectorXd x(size);
    for (double& one : x) one = double(random.uniform()) + 0.5;
    for (int step = 0; step < kSteps; ++step) {
        if (step > 0) x = shifted.solve(x);
        for (const Eigen::VectorXd& other : before) x -= x.dot(other) * other;
        x.normalize();
    }
    return x;
}

}  // namespace

EigenPairs symmetric_eigen(const std::vector<double>& values, std::size_t size, std::size_t count) {
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
        throw Error("eigenvalues: expected a matrix of finite values");
    if (size == 0) return {};
    const Eigen::MatrixXd matrix =
        Eigen::Map<const Eigen::MatrixXd>(values.data(), Eigen::Index(size), Eigen::Index(size));
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix, Eigen::EigenvaluesOnly);
    if (solver.info() != Eigen::Success) throw Error("eigenvalues: expected QR steps to converge");
    EigenPairs result;
    const Eigen::VectorXd& rising = solver.eigenvalues();
    result.values.assign(rising.begin(), rising.end());
    std::ranges::reverse(result.values);
    const double largest =
        std::max(std::fabs(result.values.front()), std::fabs(result.values.back()));
    const double scale = largest > 0 ? largest : 1;
    std::vector<Eigen::VectorXd> found;
    for (std::size_t i = 0; i < std::min(count, size); ++i) {
        found.push_back(eigenvector(matrix, result.values[i], scale, found));
        result.vectors.insert(result.vectors.end(), found.back().begin(), found.back().end());
    }
    return result;
}

}  // namespace cait
