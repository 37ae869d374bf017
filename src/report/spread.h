// How far measurements of the same thing lie apart: mean, deviation, least and most.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cait {

struct Spread {
    std::size_t count = 0;
    double mean = 0;
    // Of a sample: the squares' sum is divided by count - 1 (NumPy's ddof=1). None of one value.
    std::optional<double> deviation = {};
    double least = 0, most = 0;
};

// Throws Error where there is no value or one is not finite.
Spread spread_of(std::span<const double> values);

// Pearson's, -1 to 1; none where either does not vary or there are fewer than two points.
std::optional<double> correlation(std::span<const std::pair<double, double>> points);

}  // namespace cait
