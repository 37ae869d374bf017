// The likeliest translations by following the best few beginnings, exactly as fairseq's
// SequenceGenerator does (Ott et al. 2019): from all pieces that could follow, the best 2b of b
// hypotheses; of the first b those that end are finished; the best b of those that do not go on. A
// sentence is done when b have finished, or at its greatest length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "evaluate/translate/step_scorer.h"

namespace cait {

struct BeamOptions {
    std::size_t beam = 4;             // slots of each sentence; 1: greedy
    double length_penalty = 1.0;      // a score is a sum of log-probabilities by length^this
    bool attention = false;           // keep where the decoder looked
    std::function<bool()> stop = {};  // asked before each step; true: Error
};

struct Hypothesis {
    std::vector<std::int64_t> pieces;  // the last one is kEnd
    std::vector<double> log_probabilities;
    double score = 0;
    std::vector<float> attention = {};  // (pieces, NextPieces::places)
};

// `longest` has the most pieces of each sentence, kEnd included, at least 1; the scorer has as many
// sentences with options.beam slots each, and has seen nothing. Of each sentence the finished
// hypotheses, the best first, of equals the one that was finished first; at most `beam`.
std::vector<std::vector<Hypothesis>> beam_search(StepScorer& scorer,
                                                 std::span<const std::int64_t> longest,
                                                 const BeamOptions& options);

}  // namespace cait
