#include "evaluate/scores.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

const Scores& known_scores() {
    constexpr auto kHigher = Better::higher, kLower = Better::lower;
    static const Scores kScores = {
        {"top1", "top-1", 0, kHigher, ScoreFormat::percent},
        {"top5", "top-5", 0, kHigher, ScoreFormat::percent},
        {"map", "mAP", 0, kHigher, ScoreFormat::percent},
        {"f1", "F1", 0, kHigher, ScoreFormat::percent},
        {"macro_f1", "macro F1", 0, kHigher, ScoreFormat::percent},
        {"exact_match", "exact match", 0, kHigher, ScoreFormat::percent},
        {"miou", "mIoU", 0, kHigher, ScoreFormat::percent},
        {"macc", "mean accuracy", 0, kHigher, ScoreFormat::percent},
        {"aacc", "pixel accuracy", 0, kHigher, ScoreFormat::percent},
        {"box_ap", "box AP", 0, kHigher, ScoreFormat::percent},
        {"box_ap50", "box AP50", 0, kHigher, ScoreFormat::percent},
        {"box_ap75", "box AP75", 0, kHigher, ScoreFormat::percent},
        {"mask_ap", "mask AP", 0, kHigher, ScoreFormat::percent},
        {"mask_ap50", "mask AP50", 0, kHigher, ScoreFormat::percent},
        {"mask_ap75", "mask AP75", 0, kHigher, ScoreFormat::percent},
        {"bleu", "BLEU", 0, kHigher, ScoreFormat::number},
        {"chrf", "chrF", 0, kHigher, ScoreFormat::number},
        {"perplexity", "perplexity", 0, kLower, ScoreFormat::number},
        {"loss", "loss", 0, kLower, ScoreFormat::number},
        {"bleu_tokenised", "BLEU, tokenised", 0, kHigher, ScoreFormat::number, /*main=*/false},
        {"bleu_split", "BLEU, compounds split", 0, kHigher, ScoreFormat::number, /*main=*/false},
        {"ece", "calibration error", 0, kLower, ScoreFormat::percent, /*main=*/false},
        {"box_ap_small", "box AP, small", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ap_medium", "box AP, medium", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ap_large", "box AP, large", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar1", "box recall of 1", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar10", "box recall of 10", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar100", "box recall of 100", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar_small", "box recall, small", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar_medium", "box recall, medium", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"box_ar_large", "box recall, large", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ap_small", "mask AP, small", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ap_medium", "mask AP, medium", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ap_large", "mask AP, large", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar1", "mask recall of 1", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar10", "mask recall of 10", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar100", "mask recall of 100", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar_small", "mask recall, small", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar_medium", "mask recall, medium", 0, kHigher, ScoreFormat::percent, /*main=*/false},
        {"mask_ar_large", "mask recall, large", 0, kHigher, ScoreFormat::percent, /*main=*/false}};
    return kScores;
}

const Score* find_score(const Scores& scores, std::string_view name) {
    const auto found = std::ranges::find(scores, name, &Score::name);
    return found == scores.end() ? nullptr : &*found;
}

std::string score_text(const Score& score) {
    switch (score.format) {
        case ScoreFormat::percent:  // below 0: nothing that it could be measured by
            return score.value < 0 ? "-" : fmt::format("{:.2f} %", 100 * score.value);
        case ScoreFormat::number: return fmt::format("{:.4f}", score.value);
        case ScoreFormat::count: return fmt::format("{:.0f}", score.value);
    }
    return {};
}

Score count_score(std::string name, std::uint64_t count) {
    return {.name = name,
            .title = std::move(name),
            .value = double(count),
            .format = ScoreFormat::count};
}

Score make_score(std::string_view name, double value) {
    const Score* known = find_score(known_scores(), name);
    if (known == nullptr) throw Error(fmt::format("no score of the name '{}'", name));
    Score result = *known;
    result.value = value;
    return result;
}

Scores main_scores(Scores scores) {
    std::erase_if(scores, [](const Score& one) { return !one.main; });
    return scores;
}

Scores scores_from(const std::function<const double*(const std::string& name)>& value_of) {
    Scores scores;
    for (const Score& known : known_scores())
        if (const double* value = value_of(known.name); value != nullptr)
            scores.push_back(make_score(known.name, *value));
    return scores;
}

double merit(const Score& score) {
    return score.better == Better::higher ? score.value : -score.value;
}

std::vector<std::string> names_to_follow(const Scores& scores, bool averaged) {
    std::vector<std::string> names;
    for (const Score& one : scores) names.push_back(one.name);
    for (const Score& one : scores)
        if (averaged && one.main) names.push_back(one.name + std::string(kOfAverage));
    return names;
}

}  // namespace cait
