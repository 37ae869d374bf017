// Eigenvalues of a symmetric matrix, all of them and exactly, and the first few eigenvectors:
// Householder's tridiagonal form, then implicit QL. Our own, for a LAPACK brings a BLAS that every
// command would load.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "system/cpu_limit.h"

namespace cait {

struct EigenOptions {
    std::size_t vectors = 0;  // so many of the largest eigenvalues also get their vector
    int threads = default_threads();
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

struct Eigen {
    std::vector<double> values;   // (size), falling
    std::vector<double> vectors;  // (options.vectors, size), of length 1
};

// `matrix`: (size, size), symmetric; its memory is used for the work. What comes out does not
// depend on the number of threads; a vector's sign is left open. Throws Error where a value is not
// finite.
Eigen symmetric_eigen(std::vector<double> matrix, std::size_t size, const EigenOptions& options);

}  // namespace cait
