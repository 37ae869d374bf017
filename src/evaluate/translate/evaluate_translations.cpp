#include "evaluate/translate/evaluate_translations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cait/error.h"
#include "data/sentences/encoded_pairs.h"
#include "data/sentences/text_loader.h"
#include "data/sentences/vocabulary.h"
#include "evaluate/evaluate_sentences.h"
#include "evaluate/translate/text_engine.h"
#include "evaluate/translate/words.h"
#include "models/catalogue.h"

namespace cait {

namespace {

// Sentences that are translated together: enough to make batches of like lengths.
constexpr std::size_t kTogether = 2048;
// Logits of all pieces of a batch: 64 MiB.
constexpr std::int64_t kMostLogits = std::int64_t{1} << 24;
constexpr std::array<std::size_t, 6> kLengths = {5, 10, 15, 20, 30, 50};  // words, at most

VocabularyPtr vocabulary_of(const Model& model) {
    if (!model.text())
        throw Error(fmt::format("{}: expected a model file with a vocabulary, found none",
                                model.spec().name));
    return read_vocabulary(model.text()->kind, model.text()->vocabulary, model.spec().name);
}

// What the reference has no piece for counts as wrong, even where the translation has none either.
std::string unmatched(std::string tokens) {
    for (const std::string_view unknown : {"<unk>", "\xe2\x81\x87"})
        for (std::size_t at = tokens.find(unknown); at != std::string::npos;
             at = tokens.find(unknown, at + unknown.size() + 2)) {
            tokens.insert(at + unknown.size(), ">");
            tokens.insert(at, "<");
        }
    return tokens;
}

// BLEU of sentences by the length of their sources.
class ByLength {
public:
    void add(const std::string& source, const std::string& text, const std::string& reference) {
        const std::size_t words = split_at_space(source).size();
        const auto bin = std::size_t(std::ranges::lower_bound(kLengths, words) - kLengths.begin());
        counts_[bin].add(count_ngrams_13a(text, reference));
        ++sentences_[bin];
        longest_ = std::max(longest_, words);
    }

    std::vector<LengthScore> scores() const {
        std::vector<LengthScore> list;
        for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
            if (sentences_[bin] == 0) continue;
            list.push_back({.least = bin == 0 ? 0 : kLengths[bin - 1] + 1,
                            .most = bin < kLengths.size() ? kLengths[bin] : longest_,
                            .sentences = sentences_[bin],
                            .bleu = bleu(counts_[bin], BleuSmoothing::exponential)});
        }
        return list;
    }

private:
    std::array<BleuCounts, kLengths.size() + 1> counts_;
    std::array<std::size_t, kLengths.size() + 1> sentences_{};
    std::size_t longest_ = 0;
};

void keep_worst_sentence(std::vector<TranslatedSentence>& worst, const TranslatedSentence& one,
                         std::size_t most) {
    const auto place = std::ranges::upper_bound(worst, one.chrf, {}, &TranslatedSentence::chrf);
    if (std::size_t(place - worst.begin()) >= most) return;
    worst.insert(place, one);
    if (worst.size() > most) worst.pop_back();
}

}  // namespace

void expect_sentences(const Model& model, const Dataset& dataset) {
    if (!dataset.has_sentences())
        throw UsageError(
            fmt::format("{}: expected a data set of sentences, such as "
                        "text:FOLDER?source=en&target=de, for a model that translates",
                        dataset.source()));
    if (!model.text()) return;
    const auto [source, target] = dataset.languages();
    const TextFacts& facts = *model.text();
    const auto fits = [](const std::string& a, const std::string& b) {
        return a.empty() || b.empty() || a == b;
    };
    if (!fits(facts.source, source) || !fits(facts.target, target))
        throw UsageError(fmt::format("{}: expected {} to {}, as {} translates, found {} to {}",
                                     dataset.source(), facts.source, facts.target,
                                     model.spec().name, source, target));
}

TranslationsEvaluation evaluate_translations(const Translator& translator, const Model& model,
                                             const DatasetPtr& dataset,
                                             const EvaluateTranslationsOptions& options) {
    expect_sentences(model, *dataset);
    const VocabularyPtr vocabulary = vocabulary_of(model);
    TranslationsEvaluation result;
    result.scores = std::make_shared<TranslationScores>();
    TranslateOptions search = options.search;
    search.best = 1;
    search.attention = false;
    ByLength by_length;
    const std::size_t size = dataset->size();
    const std::size_t stride =
        std::max<std::size_t>(1, size / std::max<std::size_t>(1, options.examples));
    for (std::size_t first = 0; first < size; first += kTogether) {
        std::vector<std::string> sources, references;
        for (std::size_t i = first; i < std::min(size, first + kTogether); ++i) {
            SentencePair pair = dataset->sentences(i);
            const std::size_t pieces = translator.source_pieces(pair.source);
            if (!search.cut && pieces > std::size_t(translator.longest()))
                throw Error(fmt::format("{}: {}: expected at most {} pieces with the end, found {}",
                                        dataset->source(), dataset->name(i), translator.longest(),
                                        pieces));
            sources.push_back(std::move(pair.source));
            references.push_back(std::move(pair.target));
        }
        const auto found = translator.translate(sources, search);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Translation& best = found[i].front();
            result.scores->add_translation(
                {best.text, references[i], best.tokens,
                 unmatched(vocabulary->tokens(vocabulary->encode(references[i])))});
            by_length.add(sources[i], best.text, references[i]);
            const TranslatedSentence one{dataset->name(first + i), sources[i], references[i],
                                         best.text,
                                         chrf(count_characters(best.text, references[i]))};
            keep_worst_sentence(result.worst, one, options.worst);
            if ((first + i) % stride == 0 && result.examples.size() < options.examples)
                result.examples.push_back(one);
            result.indices.push_back(first + i);
        }
        if (options.progress) options.progress(result.indices.size());
    }
    result.by_length = by_length.scores();
    return result;
}

TextScores evaluate_references(const Executor& executor, const Model& model,
                               const DatasetPtr& dataset, int threads,
                               std::vector<std::string>& notes) {
    expect_sentences(model, *dataset);
    const TextNetwork network = TextNetwork::of(model);
    TextLoaderOptions options;
    options.longest = network.longest;
    options.pieces = std::max(network.longest, kMostLogits / network.vocabulary);
    options.shuffle = false;
    options.note = [&](const std::string& note) { notes.push_back(note); };
    TextLoader loader(encode_pairs(dataset, *vocabulary_of(model), threads), options);
    return evaluate_sentences(executor, loader);
}

}  // namespace cait
