// Eigenvalues of a symmetric matrix, all of them, and the first few eigenvectors. By Eigen, which
// stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <vector>

namespace cait {

struct EigenPairs {
    std::vector<double> values;   // (size), falling
    std::vector<double> vectors;  // (count, size) of the largest values, of length 1
};

// `matrix`: (size, size), symmetric. Vectors for the `count` largest eigenvalues; a vector's sign
// is left open. Throws Error where a value is not finite.
EigenPairs symmetric_eigen(const std::vector<double>& matrix, std::size_t size, std::size_t count);

}  // namespace cait
