#include "evaluate/contrast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cait/error.h"
#include "evaluate/student_t.h"

namespace cait {

MeanInterval mean_interval(std::span<const double> values, double confidence) {
    if (values.empty()) throw Error("interval: expected at least one value");
    for (const double value : values)
        if (!std::isfinite(value)) throw Error("interval: expected finite values");
    MeanInterval result{.count = values.size()};
    const double n = double(values.size());
    result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    if (values.size() < 2) return result;
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    result.deviation = std::sqrt(squares / (n - 1));
    const double half =
        student_quantile((1 + confidence) / 2, n - 1) * *result.deviation / std::sqrt(n);
    result.low = result.mean - half;
    result.high = result.mean + half;
    return result;
}

std::optional<double> paired_p(std::span<const double> differences) {
    if (differences.size() < 2) return std::nullopt;
    const MeanInterval interval = mean_interval(differences);
    if (*interval.deviation == 0) return interval.mean == 0 ? 1 : 0;
    const double n = double(differences.size());
    return student_two_sided(interval.mean / (*interval.deviation / std::sqrt(n)), n - 1);
}

std::vector<double> holm(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
    std::vector<double> adjusted(p.size());
    double before = 0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        before = std::max(before, std::min(1.0, double(p.size() - rank) * p[order[rank]]));
        adjusted[order[rank]] = before;
    }
    return adjusted;
}

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::open: return "open";
        case Verdict::shown: return "shown";
        case Verdict::contradicted: return "contradicted";
    }
    return {};
}

Verdict verdict_of(const MeanInterval& difference, double margin, std::optional<double> adjusted,
                   double significance) {
    if (!difference.low || (adjusted && *adjusted >= significance)) return Verdict::open;
    if (*difference.low > 0 && difference.mean >= margin) return Verdict::shown;
    return *difference.high < 0 ? Verdict::contradicted : Verdict::open;
}

}  // namespace cait
