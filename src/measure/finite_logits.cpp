#include "measure/finite_logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cait {

void check_finite_logits(std::span<const float> logits, const std::string& image) {
    const auto bad = std::ranges::find_if(logits, [](float v) { return !std::isfinite(v); });
    if (bad == logits.end()) return;
    throw NonFiniteLogits(fmt::format(
        "{}: logit {}: expected a finite number, found {}: the weights are damaged, or too large "
        "for the precision",
        image, bad - logits.begin(), *bad));
}

}  // namespace cait
