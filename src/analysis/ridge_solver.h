// (A + ridge I)⁻¹ of a symmetric matrix without negative eigenvalues: what makes a valley round
// before something is minimised along it. By Eigen, which stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace cait {

class RidgeSolver {
public:
    // `matrix` is (size, size). The ridge is above 0.
    RidgeSolver(const std::vector<double>& matrix, std::size_t size, double ridge);

    // Each row of (rows, size) becomes (A + ridge I)⁻¹ times itself.
    void apply(std::span<double> rows) const;

private:
    struct Factors;
    std::shared_ptr<const Factors> factors_;
};

}  // namespace cait
