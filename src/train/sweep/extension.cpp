#include "train/sweep/extension.h"

#include <algorithm>
#include <cmath>

namespace cait {

namespace {

bool deserves_more(const SweepContrastResult& contrast) {
    return contrast.primary && !contrast.is_ratio && contrast.interval &&
           contrast.verdict == Verdict::open && contrast.margin > 0 &&
           std::abs(contrast.interval->mean) >= contrast.margin / 2;
}

bool contains(const std::vector<std::int64_t>& seeds, std::int64_t seed) {
    return std::ranges::find(seeds, seed) != seeds.end();
}

bool is_compared(const SweepRun& run, const StudyContrast& contrast) {
    return std::ranges::any_of(
        std::initializer_list<const StudyWhere*>{&contrast.better, &contrast.worse,
                                                 &contrast.better_from, &contrast.worse_from},
        [&](const StudyWhere* side) { return !side->empty() && matches(run, *side); });
}

}  // namespace

std::vector<Extension> extensions_of(const SweepStudy& study, const SweepStudyResult& result) {
    std::vector<Extension> extensions;
    if (!study.extend) return extensions;
    std::int64_t last = 0;
    for (const std::int64_t seed : all_seeds(study)) last = std::max(last, seed);
    for (std::size_t i = 0; i < result.contrasts.size(); ++i) {
        if (!deserves_more(result.contrasts[i])) continue;
        Extension extension{i, {}};
        for (std::size_t n = 1; n <= result.contrasts[i].seeds.size(); ++n)
            extension.seeds.push_back(last + std::int64_t(n));
        extensions.push_back(std::move(extension));
    }
    return extensions;
}

std::vector<SweepRun> plan_extended(const SweepStudy& study, const TuneChoices& choices,
                                    const std::vector<Extension>& extensions) {
    std::vector<std::int64_t> further;
    for (const Extension& extension : extensions)
        for (const std::int64_t seed : extension.seeds)
            if (!contains(further, seed)) further.push_back(seed);
    return plan_runs(study, choices,
                     {further, [&](const SweepRun& run) {
                          return std::ranges::any_of(extensions, [&](const Extension& extension) {
                              return contains(extension.seeds, run.seed) &&
                                     is_compared(run, study.contrasts[extension.contrast]);
                          });
                      }});
}

}  // namespace cait
