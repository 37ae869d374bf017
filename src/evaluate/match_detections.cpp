#include "evaluate/match_detections.h"

#include <algorithm>

namespace cait {

namespace {

struct AreaRange {
    double least, most;
    bool holds(double area) const { return area >= least && area <= most; }
};

constexpr AreaRange kRanges[kAreaRanges] = {
    {0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}};

// In the order in which they are tried: those that count first.
struct Candidates {
    std::vector<std::size_t> order;
    std::size_t counting = 0;
};

Candidates candidates_in(const AreaRange& range, std::span<const AnnotatedSize> annotated) {
    Candidates result;
    for (std::size_t i = 0; i < annotated.size(); ++i) result.order.push_back(i);
    const auto counts = [&](std::size_t i) {
        return !annotated[i].ignored && range.holds(annotated[i].area);
    };
    const auto rest = std::ranges::stable_partition(result.order, counts);
    result.counting = std::size_t(rest.begin() - result.order.begin());
    return result;
}

constexpr std::size_t kNoMatch = std::size_t(-1);

// The place in `order` of what a found thing matches best; of equals the last. What is ignored is
// matched only where nothing else is.
std::size_t best_match(const Candidates& candidates, std::span<const AnnotatedSize> annotated,
                       std::span<const double> overlaps, double threshold,
                       const std::vector<bool>& taken) {
    double best = threshold;
    std::size_t match = kNoMatch;
    for (std::size_t place = 0; place < candidates.order.size(); ++place) {
        if (place == candidates.counting && match != kNoMatch) break;
        const std::size_t i = candidates.order[place];
        if ((taken[place] && !annotated[i].ignored) || overlaps[i] < best) continue;
        best = overlaps[i];
        match = place;
    }
    return match;
}

}  // namespace

double overlap_threshold(std::size_t index) {
    constexpr double kStep = (0.95 - 0.5) / double(kOverlaps - 1);  // as np.linspace has it
    return index + 1 == kOverlaps ? 0.95 : double(index) * kStep + 0.5;
}

ImageJudgement judge_image(std::span<const double> found, std::span<const AnnotatedSize> annotated,
                           std::span<const double> overlaps) {
    ImageJudgement result;
    result.found.resize(found.size());
    for (std::size_t area = 0; area < kAreaRanges; ++area) {
        const Candidates candidates = candidates_in(kRanges[area], annotated);
        result.objects[area] = candidates.counting;
        for (std::size_t t = 0; t < kOverlaps; ++t) {
            std::vector<bool> taken(annotated.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                const std::size_t match = best_match(
                    candidates, annotated, overlaps.subspan(i * annotated.size(), annotated.size()),
                    overlap_threshold(t), taken);
                if (match != kNoMatch) {
                    taken[match] = true;
                    result.found[i].matched.set(area, t);
                }
                // What matches nothing and has another size is no mistake of this range.
                if (match != kNoMatch ? match >= candidates.counting
                                      : !kRanges[area].holds(found[i]))
                    result.found[i].ignored.set(area, t);
            }
        }
    }
    return result;
}

}  // namespace cait
