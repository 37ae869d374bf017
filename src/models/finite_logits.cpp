#include "models/finite_logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

constexpr float kLargestPrepared = 1e4F;

}  // namespace

void check_finite_values(std::span<const float> values, const std::string& image,
                         const std::string& what) {
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) return;
    throw NonFiniteLogits(fmt::format("{}: {} {}: expected a finite number, found {}: {}", image,
                                      what, bad - values.begin(), *bad, overflow_reason(0)));
}

void check_finite_logits(std::span<const float> logits, const std::string& image) {
    check_finite_values(logits, image, "logit");
}

float largest_magnitude(std::span<const float> inputs) {
    float largest = 0;
    for (const float value : inputs) largest = std::max(largest, std::abs(value));
    return largest;
}

bool inputs_overflow(float largest) { return largest > kLargestPrepared; }

std::string overflow_reason(float largest) {
    if (!inputs_overflow(largest)) return "the weights are damaged, or too large for the precision";
    return fmt::format(
        "the input's values reach {:g}, more than can be computed with (those of prepared images "
        "are a few units)",
        largest);
}

}  // namespace cait
