// The likeliest pieces of each hypothesis: the product with the table of pieces, the softmax and
// the choice in one pass over the vocabulary, a block of columns at a time, so that the logits of
// all pieces are never in memory together.
#pragma once

#include <span>
#include <vector>

#include "evaluate/translate/step_scorer.h"
#include "evaluate/translate/text_engine.h"
#include "kernels/table.h"
#include "kernels/workspace.h"

namespace cait {

class PieceRanking {
public:
    // What the decoder of a model left: x [rows, dim] for the table of `engine`.
    struct Decoded {
        const TextEngine* engine = nullptr;
        const float* x = nullptr;
    };

    // Fills next.best and next.end. Of several models, which have equal vocabularies, the
    // probabilities are averaged. Throws Error where a logit is not finite.
    void rank(std::span<const Decoded> models, kernels::Index rows, std::size_t most,
              NextPieces& next);

    std::uint64_t bytes() const;

private:
    void rank_one(const Decoded& model, kernels::Index rows, NextPieces& next);
    void rank_mean(std::span<const Decoded> models, kernels::Index rows, NextPieces& next);
    // Of a few rows: into mean_, or added to what is there.
    void add_probabilities(const Decoded& model, kernels::Index rows, bool is_first);
    kernels::Lhs stage(const Decoded& model, kernels::Index rows);

    kernels::Buffer staged_, parts_, logits_, mean_;
    std::vector<kernels::LogitRow> found_;      // by worker and row
    std::vector<kernels::RankedLogit> ranked_;  // and each one's best
};

}  // namespace cait
