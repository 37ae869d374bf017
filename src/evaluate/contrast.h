// What a few repetitions allow one to say: means with intervals, differences of pairs, Holm's
// correction for several questions, and the verdict by a margin that was fixed beforehand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cait {

struct MeanInterval {
    std::size_t count = 0;
    double mean = 0;
    std::optional<double> deviation = {};  // of a sample (n - 1); none of one value
    std::optional<double> low = {}, high = {};
};

// Student's t-interval; throws Error where there is no value or one is not finite.
MeanInterval mean_interval(std::span<const double> values, double confidence = 0.95);

// Two-sided p of "the mean of the differences is 0" (a paired t-test of what they were made of);
// none of fewer than two.
std::optional<double> paired_p(std::span<const double> differences);

// Holm's step-down correction: adjusted p in the order given.
std::vector<double> holm(std::span<const double> p);

enum class Verdict { open, shown, contradicted };
std::string_view verdict_name(Verdict verdict);

inline constexpr double kSignificance = 0.05;

// Shown: the interval lies above 0 and the mean reaches the margin. Contradicted: it lies below 0.
// `adjusted` is Holm's p of a primary question, which then has to be below the significance too.
Verdict verdict_of(const MeanInterval& difference, double margin,
                   std::optional<double> adjusted = {}, double significance = kSignificance);

}  // namespace cait
