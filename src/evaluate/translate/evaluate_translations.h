// Translates the sentences of a data set and compares what comes out with its translations.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cait/translator.h"
#include "data/dataset.h"
#include "evaluate/translate/translation_scores.h"
#include "models/executor.h"

namespace cait {

struct EvaluateTranslationsOptions {
    TranslateOptions search = {};
    std::size_t worst = 24;     // sentences that are kept, by their own chrF
    std::size_t examples = 12;  // from the whole data set, evenly
    int threads = 1;            // that cut text into pieces
    std::function<void(std::size_t sentences)> progress = {};
};

struct TranslatedSentence {
    std::string name;  // of the data set for it
    std::string source, reference, translation;
    double chrf = 0;
};

// Of sentences whose sources have a like number of words.
struct LengthScore {
    std::size_t least = 0, most = 0;  // words
    std::size_t sentences = 0;
    double bleu = 0;
};

struct TranslationsEvaluation {
    std::shared_ptr<TranslationScores> scores;
    std::vector<std::size_t> indices;
    std::vector<TranslatedSentence> worst, examples;
    std::vector<LengthScore> by_length;
    std::vector<std::string> notes;
};

// Throws UsageError where the data has no sentences or other languages than the model, Error that
// names a sentence which is too long.
TranslationsEvaluation evaluate_translations(const Translator& translator, const Model& model,
                                             const DatasetPtr& dataset,
                                             const EvaluateTranslationsOptions& options = {});

// How likely the model finds the references; `executor` runs it.
TextScores evaluate_references(const Executor& executor, const Model& model,
                               const DatasetPtr& dataset, int threads,
                               std::vector<std::string>& notes);

// Throws UsageError as above.
void expect_sentences(const Model& model, const Dataset& dataset);

}  // namespace cait
