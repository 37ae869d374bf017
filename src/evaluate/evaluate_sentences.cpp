#include "evaluate/evaluate_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/piece_ids.h"
#include "models/finite_logits.h"

namespace cait {

namespace {

constexpr const char* kTap = "logits";

// −log of the softmax at `piece`.
double surprise_of(std::span<const float> logits, std::size_t piece) {
    const float most = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) sum += double(std::exp(logit - most));
    return std::log(sum) + double(most) - double(logits[piece]);
}

// Of one batch; what stands behind the end of a sentence does not count.
void add_batch(const Batch& batch, const Tensor& logits, TextScores& scores) {
    const Tensor& expected = batch.targets.at("expected");
    const std::int64_t longest = expected.shape()[1], width = logits.shape()[-1];
    if (logits.shape() != Shape{std::int64_t(batch.size), longest, width})
        throw Error(fmt::format("evaluate: expected logits [{}, {}, V], found {}", batch.size,
                                longest, logits.shape().to_string()));
    const std::span<const std::int64_t> wanted = expected.integers();
    std::uint64_t pieces = 0;
    double loss = 0;
    for (std::size_t row = 0; row < wanted.size(); ++row) {
        if (wanted[row] == kPad) continue;
        if (wanted[row] < 0 || wanted[row] >= width)
            throw Error(
                fmt::format("evaluate: expected pieces below {}, found {}", width, wanted[row]));
        const auto answers = logits.floats().subspan(row * std::size_t(width), std::size_t(width));
        const double surprise = surprise_of(answers, std::size_t(wanted[row]));
        if (!std::isfinite(surprise)) {
            const auto pair = batch.keys[row / std::size_t(longest)].sample;
            check_finite_logits(answers, fmt::format("sentence {}", pair + 1));
        }
        loss += surprise;
        ++pieces;
    }
    scores.add_pieces(batch.size, pieces, loss);
}

}  // namespace

TextScores evaluate_sentences(const Executor& executor, BatchSource& source,
                              const std::function<void(std::size_t sentences)>& progress) {
    TextScores scores;
    while (const Batch* batch = source.next()) {
        NamedInputs<Tensor> inputs;
        for (const auto& [name, tensor] : batch->inputs) inputs.emplace(name, tensor);
        const auto outputs = executor.run(inputs, {kTap});
        add_batch(*batch, outputs.at(kTap), scores);
        if (progress) progress(std::size_t(scores.images()));
    }
    return scores;
}

}  // namespace cait
