// The sentences of a run that learns to translate: what cuts them into pieces, all of them in
// pieces, and how they make batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text_size.h"
#include "cait/model.h"
#include "data/sentences/text_loader.h"
#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"

namespace cait {

struct SentenceData {
    TextFacts facts;
    EncodedPairsPtr train;
    EncodedPairsPtr val;       // this process's share; null where it has none
    std::int64_t longest = 0;  // pieces of a side that the model takes, </s> included
};

// What data.vocabulary says: learned from the data, or read from the file that it names, by the
// first process; all get the same bytes. `notes` gets a line about it. Throws Error in all
// processes for a file or for data that have none.
TextFacts make_vocabulary(const Recipe& recipe, const Dataset& train, ProcessGroup& group,
                          std::vector<std::string>& notes);

// Of the run's training data: which sentences make a step.
TextLoaderOptions training_text(const Recipe& recipe, const SentenceData& sentences,
                                std::size_t rank, std::size_t world);
// Of the validation data, which each process has a share of.
TextLoaderOptions validation_text(const Recipe& recipe, const SentenceData& sentences,
                                  std::size_t world);

// How the sentences of a step are batched, for counting them before there is a loader.
TextBatches batches_of(const EncodedPairs& pairs, const TextLoaderOptions& options);

inline TextSize size_of(const TextBatchShape& shape) {
    return {.source = shape.source, .target = shape.target};
}

}  // namespace cait
