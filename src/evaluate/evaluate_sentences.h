// Shows pairs of sentences to a model that translates and asks how likely it finds each
// translation, piece by piece, with all pieces before it given. Training does this after an epoch,
// `cait eval` once.
#pragma once

#include <cstddef>
#include <functional>

#include "data/batch_source.h"
#include "evaluate/text_scores.h"
#include "models/executor.h"

namespace cait {

// The source goes through the data once. `progress` after each batch, with all sentences so far.
// Throws NonFiniteLogits, naming the sentence by its place in the data set, where an answer is not
// finite.
TextScores evaluate_sentences(const Executor& executor, BatchSource& source,
                              const std::function<void(std::size_t sentences)>& progress = {});

}  // namespace cait
