#include "analysis/ridge_solver.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "cait/error.h"

namespace cait {

struct RidgeSolver::Factors {
    Eigen::LLT<Eigen::MatrixXd> cholesky;
};

RidgeSolver::RidgeSolver(const std::vector<double>& matrix, std::size_t size, double ridge) {
    auto factors = std::make_shared<Factors>();
    Eigen::MatrixXd sum =
        Eigen::Map<const Eigen::MatrixXd>(matrix.data(), Eigen::Index(size), Eigen::Index(size));
    // Rounding may have brought an eigenvalue further below 0 than the ridge lifts it.
    for (;; ridge *= 10) {
        if (!std::isfinite(ridge)) throw Error("least squares: expected a matrix of finite values");
        sum.diagonal().array() += ridge;
        if (factors->cholesky.compute(sum).info() == Eigen::Success) break;
    }
    factors_ = std::move(factors);
}

void RidgeSolver::apply(std::span<double> rows) const {
    const Eigen::Index size = factors_->cholesky.rows();
    Eigen::Map<Eigen::MatrixXd> columns(rows.data(), size, Eigen::Index(rows.size()) / size);
    factors_->cholesky.solveInPlace(columns);
}

}  // namespace cait
