// Learning to translate: each next piece of a translation, of which all pieces before it are given.
#include <fmt/format.h>

#include "base/piece_ids.h"
#include "cait/error.h"
#include "train/objectives/objective.h"
#include "train/objectives/piece_loss.h"

namespace cait {

namespace {

constexpr const char* kExpected = "expected";  // as TextLoader calls it

std::int64_t count_pieces(const ObjectiveBatch& batch) {
    return batch.target(kExpected).ne(kPad).sum().item<std::int64_t>();
}

class TranslateObjective : public Objective {
public:
    explicit TranslateObjective(const ObjectiveSetup& setup)
        : smoothing_(setup.recipe.loss.smoothing),
          longest_(setup.data.longest),
          group_(setup.group) {}

    std::vector<std::string> taps() const override { return {"logits"}; }
    Needs needs() const override { return {.logs_parts = true}; }

    // The mean is over the pieces of the whole batch, in all parts and processes: sentences are of
    // different lengths, and a mean of means would depend on how they are dealt.
    void before_batch(const ObjectiveBatch& whole) override {
        at::Tensor pieces = at::tensor({count_pieces(whole)}, at::kLong);
        if (group_.world() > 1) group_.all_reduce_sum(pieces);
        pieces_ = pieces.item<std::int64_t>();
        sentences_ = whole.size();
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& /*context*/) override {
        const at::Tensor logits = outputs[0].at("logits"), expected = batch.target(kExpected);
        if (!expected.defined() || logits.dim() != 3 ||
            expected.sizes() != logits.sizes().slice(0, 2))
            throw Error("[loss] translate: expected the pieces of a translation for each logit");
        const PieceLoss sums = piece_loss(
            logits.flatten(0, 1).to(logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
            expected.flatten().to(logits.device()), smoothing_);
        const std::int64_t own = count_pieces(batch);
        const double share = share_of(own, batch.size());
        return {.total = sums.total * share,
                .parts = {{"nll", sums.likely * share}},
                .correct = {},
                .pieces = own};
    }

    void put_fullest_targets(std::int64_t samples, TorchTensors& targets) const override {
        if (!longest_) return;
        targets[kExpected] = at::full({samples, longest_->target}, kEnd, at::kLong);
    }

private:
    // What a sum over these pieces is to be multiplied by. The step weighs a part by its sentences
    // and takes the mean of the processes.
    double share_of(std::int64_t own, std::int64_t sentences) const {
        if (pieces_ == 0) return 1 / double(own);  // nothing else is known of
        return double(group_.world()) * double(sentences_) / double(sentences) / double(pieces_);
    }

    double smoothing_;
    std::optional<TextSize> longest_;
    ProcessGroup& group_;
    // Of the batch: pieces in all processes, sentences in this one.
    std::int64_t pieces_ = 0, sentences_ = 0;
};

}  // namespace

std::unique_ptr<Objective> make_translate(const ObjectiveSetup& setup) {
    return std::make_unique<TranslateObjective>(setup);
}

}  // namespace cait
