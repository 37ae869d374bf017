// (A + ridge I)⁻¹ of a symmetric matrix without negative eigenvalues, by its Cholesky factor: what
// makes a valley round before something is minimised along it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cait {

class RidgeSolver {
public:
    // `matrix` is (size, size); its upper half is read. The ridge is above 0.
    RidgeSolver(std::vector<double> matrix, std::size_t size, double ridge);

    // Each row of (rows, size) becomes (A + ridge I)⁻¹ times itself.
    void apply(std::span<double> rows) const;

private:
    std::size_t size_;
    std::vector<double> upper_;  // U with UᵀU = A + ridge I; below the diagonal is anything
};

}  // namespace cait
