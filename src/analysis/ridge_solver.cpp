#include "analysis/ridge_solver.h"

#include <algorithm>
#include <cmath>

namespace cait {

RidgeSolver::RidgeSolver(std::vector<double> matrix, std::size_t size, double ridge)
    : size_(size), upper_(std::move(matrix)) {
    const auto row = [&](std::size_t i) { return upper_.data() + i * size_; };
    for (std::size_t i = 0; i < size_; ++i) row(i)[i] += ridge;
    for (std::size_t k = 0; k < size_; ++k) {
        double* const pivot = row(k);
        // It is below the ridge by rounding alone.
        const double diagonal = std::sqrt(std::max(pivot[k], ridge));
        pivot[k] = diagonal;
        for (std::size_t j = k + 1; j < size_; ++j) pivot[j] /= diagonal;
        for (std::size_t i = k + 1; i < size_; ++i)
            for (std::size_t j = i; j < size_; ++j) row(i)[j] -= pivot[i] * pivot[j];
    }
}

// All right-hand sides go side by side through the triangle.
void RidgeSolver::apply(std::span<double> rows) const {
    const std::size_t count = rows.size() / size_;
    std::vector<double> columns(rows.size());  // (size, count)
    const auto turn = [&](auto&& move) {
        for (std::size_t c = 0; c < count; ++c)
            for (std::size_t i = 0; i < size_; ++i)
                move(rows[c * size_ + i], columns[i * count + c]);
    };
    turn([](double from, double& to) { to = from; });
    const auto subtract = [&](std::size_t from, double times, std::size_t to) {
        for (std::size_t c = 0; c < count; ++c)
            columns[to * count + c] -= times * columns[from * count + c];
    };
    const auto divide = [&](std::size_t i) {
        for (std::size_t c = 0; c < count; ++c) columns[i * count + c] /= upper_[i * size_ + i];
    };
    for (std::size_t i = 0; i < size_; ++i) {  // Uᵀ y = b
        divide(i);
        for (std::size_t j = i + 1; j < size_; ++j) subtract(i, upper_[i * size_ + j], j);
    }
    for (std::size_t i = size_; i-- > 0;) {  // U x = y
        for (std::size_t j = i + 1; j < size_; ++j) subtract(j, upper_[i * size_ + j], i);
        divide(i);
    }
    turn([](double& to, double from) { to = from; });
}

}  // namespace cait
