#include "evaluate/accuracy_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cait {

AccuracyInterval accuracy_interval(double accuracy, std::uint64_t images) {
    if (images == 0) return {};
    constexpr double z = 1.959964;  // of the normal distribution, for 95 %
    const auto n = double(images);
    const double scale = 1 / (1 + z * z / n);
    const double centre = scale * (accuracy + z * z / (2 * n));
    const double reach = scale * z * std::sqrt(accuracy * (1 - accuracy) / n + z * z / (4 * n * n));
    return {std::max(0.0, centre - reach), std::min(1.0, centre + reach)};
}

std::string interval_text(const Score& score, std::uint64_t images) {
    constexpr std::uint64_t kMany = 1000;
    const bool counts = score.name == "top1" || score.name == "exact_match";
    if (!counts || images >= kMany) return {};
    const AccuracyInterval interval = accuracy_interval(score.value, images);
    return fmt::format("95 % interval {:.1f} to {:.1f} %", 100 * interval.low, 100 * interval.high);
}

}  // namespace cait
