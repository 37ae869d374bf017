#include "report/spread.h"

#include <algorithm>
#include <cmath>

#include "cait/error.h"

namespace cait {

Spread spread_of(std::span<const double> values) {
    if (values.empty()) throw Error("spread: expected at least one value, found none");
    Spread spread{.count = values.size(), .least = values.front(), .most = values.front()};
    double sum = 0;
    for (const double value : values) {
        if (!std::isfinite(value)) throw Error("spread: expected finite values");
        sum += value;
        spread.least = std::min(spread.least, value);
        spread.most = std::max(spread.most, value);
    }
    spread.mean = sum / double(values.size());
    if (values.size() < 2) return spread;
    double squares = 0;  // from the mean: sums of raw squares would cancel
    for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
    spread.deviation = std::sqrt(squares / double(values.size() - 1));
    return spread;
}

std::optional<double> correlation(std::span<const std::pair<double, double>> points) {
    if (points.size() < 2) return std::nullopt;
    const double count = double(points.size());
    double mean_x = 0, mean_y = 0;
    for (const auto& [x, y] : points) {
        mean_x += x / count;
        mean_y += y / count;
    }
    double xx = 0, yy = 0, xy = 0;
    for (const auto& [x, y] : points) {
        xx += (x - mean_x) * (x - mean_x);
        yy += (y - mean_y) * (y - mean_y);
        xy += (x - mean_x) * (y - mean_y);
    }
    if (!(xx > 0 && yy > 0)) return std::nullopt;
    return xy / std::sqrt(xx * yy);
}

}  // namespace cait
