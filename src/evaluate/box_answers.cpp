#include "evaluate/box_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cait/error.h"
#include "kernels/suppression.h"

namespace cait {

namespace {

// What suppression sees: every class of every proposal that scores enough.
struct AnswerList {
    std::vector<float> boxes, scores;
    std::vector<std::int32_t> labels;
    std::vector<std::size_t> proposals;
};

bool all_finite(std::span<const float> values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// Softmax; false where a logit is not finite.
bool to_probabilities(std::span<const float> logits, std::vector<float>& probabilities) {
    if (!all_finite(logits)) return false;
    const float largest = *std::ranges::max_element(logits);
    float sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
        sum += probabilities[i] = std::exp(logits[i] - largest);
    for (float& value : probabilities) value /= sum;
    return true;
}

// Where a proposal's deltas lead; nothing where a number is not finite or a side too short.
std::optional<Region> answered_region(const Region& from, std::span<const float> deltas,
                                      ImageSize image, const RegionRules& rules) {
    const Region region = clipped(moved(from, deltas.data(), rules.box_std, rules), image);
    const float least = rules.least_answer_side;
    const bool fits = region.width() >= least && region.height() >= least;  // not of NaN
    return fits && all_finite(deltas) ? std::optional(region) : std::nullopt;
}

std::size_t class_count(std::size_t proposals, std::span<const float> logits,
                        std::span<const float> deltas, const RegionRules& rules) {
    const std::size_t each = logits.size() / proposals;  // with the background
    const std::size_t boxes = rules.background_first ? each : each - 1;
    if (each < 2 || each * proposals != logits.size() || deltas.size() != proposals * boxes * 4)
        throw Error(fmt::format(
            "detections: {} proposals need as many rows of logits, of 2 classes or more, and 4 "
            "deltas for each class{}, found {} logits and {} deltas",
            proposals, rules.background_first ? " and the background" : "", logits.size(),
            deltas.size()));
    return each - 1;
}

AnswerList all_answers(std::span<const Proposal> proposals, std::span<const float> logits,
                       std::span<const float> deltas, ImageSize image, const RegionRules& rules,
                       float threshold) {
    const std::size_t classes = class_count(proposals.size(), logits, deltas, rules);
    const std::size_t skipped = rules.background_first ? 1 : 0, boxes = classes + skipped;
    std::vector<float> probabilities(classes + 1);
    AnswerList list;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
        if (!to_probabilities(logits.subspan(i * (classes + 1), classes + 1), probabilities))
            continue;
        for (std::size_t label = 0; label < classes; ++label) {
            const float score = probabilities[label + skipped];
            if (!(score > threshold)) continue;
            const std::optional<Region> region =
                answered_region(proposals[i].region,
                                deltas.subspan((i * boxes + label + skipped) * 4, 4), image, rules);
            if (!region) continue;
            list.boxes.insert(list.boxes.end(),
                              {region->left, region->top, region->right, region->bottom});
            list.scores.push_back(score);
            list.labels.push_back(std::int32_t(label));
            list.proposals.push_back(i);
        }
    }
    return list;
}

}  // namespace

std::vector<BoxAnswer> box_answers(std::span<const Proposal> proposals,
                                   std::span<const float> logits, std::span<const float> deltas,
                                   ImageSize image, const RegionRules& rules,
                                   const BoxAnswerOptions& options) {
    if (proposals.empty() && logits.empty() && deltas.empty()) return {};
    if (proposals.empty())
        throw Error(fmt::format("detections: no proposals, but {} logits and {} deltas",
                                logits.size(), deltas.size()));
    const AnswerList list = all_answers(proposals, logits, deltas, image, rules, options.threshold);
    std::vector<BoxAnswer> answers;
    for (const std::int32_t chosen :
         kernels::suppress(list.boxes, list.scores, list.labels, options.overlap, options.most)) {
        const auto at = std::size_t(chosen);
        const float* box = list.boxes.data() + 4 * at;
        answers.push_back({.region = {box[0], box[1], box[2], box[3]},
                           .score = list.scores[at],
                           .label = list.labels[at],
                           .proposal = list.proposals[at]});
    }
    return answers;
}

}  // namespace cait
