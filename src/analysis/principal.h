// Principal components of vectors: how much of what is in them a few directions hold (figure 2.1 of
// Touvron's thesis), and where each vector lies along the first of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

struct PrincipalOptions {
    int threads = default_threads();
    std::size_t scores = 0;  // components along which every vector's place is computed
};

struct Principal {
    // Eigenvalues of the covariance (sums are divided by rows - 1), falling; as many as there are
    // rows or columns, whichever are fewer: all others are 0.
    std::vector<double> variances;
    // (rows, options.scores); of each component the furthest (the first of equals) is positive.
    std::vector<double> scores;
};

// Throws Error, opening with `source`, for fewer than two vectors, values that are not finite, or
// more than kMostComponents rows and columns.
inline constexpr std::size_t kMostComponents = 8192;
Principal principal_components(const Vectors& vectors, const std::string& source,
                               const PrincipalOptions& options);

// [i]: the fraction of all variance that the first i + 1 components hold. Empty where nothing
// varies.
std::vector<double> cumulative_energy(const std::vector<double>& variances);

// How many components hold at least this fraction of all.
std::size_t components_for(const std::vector<double>& energy, double fraction);

}  // namespace cait
