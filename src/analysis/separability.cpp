#include "analysis/separability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/linear_probe.h"
#include "cait/error.h"
#include "data/random.h"

namespace cait {

namespace {

std::size_t largest(std::span<const double> scores) {
    return std::size_t(std::ranges::max_element(scores) - scores.begin());
}

// Both answers to one image: the likeliest half of all, and that of p(class) by the model times
// p(half | class) by the probe.
struct Answers {
    std::size_t plain = 0, conditional = 0;
};
Answers answers(std::span<const float> logits, std::span<const double> coarse) {
    const std::vector<double> scores(logits.begin(), logits.end());
    Answers result{largest(scores), 0};
    if (coarse.empty()) return result;
    std::vector<double> joint(logits.size());
    for (std::size_t c = 0; c < coarse.size(); ++c) {
        const double first = 1 / (1 + std::exp(scores[2 * c + 1] - scores[2 * c]));
        joint[2 * c] = coarse[c] * first;
        joint[2 * c + 1] = coarse[c] * (1 - first);
    }
    result.conditional = largest(joint);
    return result;
}

}  // namespace

void check_split(std::span<const std::int64_t> labels, std::size_t classes,
                 const std::string& source) {
    std::vector<std::size_t> counts(classes, 0);
    for (const std::int64_t label : labels) ++counts[std::size_t(label)];
    if (std::ranges::count_if(counts, [](std::size_t n) { return n > 0; }) < 2)
        throw Error(fmt::format("{}: expected images of at least 2 classes, found 1", source));
    const auto single = std::ranges::find(counts, 1U);
    if (single != counts.end())
        throw Error(
            fmt::format("{}: expected at least 2 images of every class, found 1 of class {}",
                        source, single - counts.begin()));
}

std::vector<std::int64_t> split_classes(std::span<const std::int64_t> labels, std::size_t classes,
                                        std::uint64_t seed, std::size_t draw) {
    std::vector<std::vector<std::size_t>> members(classes);
    for (std::size_t i = 0; i < labels.size(); ++i) members[std::size_t(labels[i])].push_back(i);
    RandomStream random(seed, fmt::format("separability {}", draw));
    std::vector<std::int64_t> halves(labels.size());
    for (std::size_t c = 0; c < classes; ++c) {
        shuffle(std::span(members[c]), random);
        for (std::size_t i = 0; i < members[c].size(); ++i)
            halves[members[c][i]] = std::int64_t(2 * c + (i < (members[c].size() + 1) / 2 ? 0 : 1));
    }
    return halves;
}

std::vector<SeparabilityDraw> separability(const Vectors& vectors,
                                           std::span<const std::int64_t> labels,
                                           std::size_t classes, const std::string& source,
                                           const SeparabilityOptions& options) {
    check_split(labels, classes, source);
    const LinearProbe probe(vectors, source, options.threads);
    std::vector<SeparabilityDraw> draws;
    for (std::size_t draw = 0; draw < options.draws; ++draw) {
        const std::vector<std::int64_t> halves = split_classes(labels, classes, options.seed, draw);
        const LinearClassifier fitted = probe.fit(halves, 2 * classes);
        const std::vector<float> logits = probe.logits(fitted);
        std::size_t right = 0, conditioned = 0;
        for (std::size_t row = 0; row < labels.size(); ++row) {
            const auto coarse = options.coarse.empty()
                                    ? options.coarse
                                    : options.coarse.subspan(row * classes, classes);
            const Answers found =
                answers(std::span(logits).subspan(row * 2 * classes, 2 * classes), coarse);
            right += found.plain == std::size_t(halves[row]) ? 1 : 0;
            conditioned += found.conditional == std::size_t(halves[row]) ? 1 : 0;
        }
        const auto count = double(labels.size());
        draws.push_back({double(right) / count, double(conditioned) / count, fitted.iterations,
                         fitted.converged});
        if (options.progress) options.progress(draw + 1, options.draws);
    }
    return draws;
}

}  // namespace cait
