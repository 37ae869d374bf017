// From sentences of one language to sentences of another: cutting into pieces, running, beam search
// and putting together in one call. Link cait::evaluate (find_package(cait COMPONENTS evaluate)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cait/model.h"
#include "cait/session.h"
#include "cait/tensor.h"

namespace cait {

struct TranslateOptions {
    std::size_t beam = 4;         // hypotheses of a sentence that are followed; 1: greedy
    double length_penalty = 1.0;  // scores are divided by the number of pieces to this power
    std::size_t best = 1;         // translations of each sentence, at most `beam`
    // Most pieces of a translation, its end included. 0: 50 more than its source has; never more
    // than the model takes.
    std::int64_t longest = 0;
    bool attention = false;     // also where the decoder looked
    bool cut = false;           // cut sources that are too long, which is otherwise an Error
    std::size_t pieces = 4096;  // of the sources of a batch, padding included
    // Asked before each step of the search; true ends translate() with an Error.
    std::function<bool()> stop = {};
};

struct Translation {
    std::string text;
    double score = 0;  // mean log-probability of the pieces: their sum / number ^ length_penalty
    // The last one is the end, "</s>", as in the two below. Empty for an empty source.
    std::vector<std::string> pieces;
    std::vector<double> piece_scores;  // log-probabilities
    // [pieces, source_pieces] float32: the last layer's cross-attention, mean over its heads. Only
    // where it is asked for.
    Tensor attention;
    std::vector<std::string> source_pieces;  // the end included; where attention is asked for
    std::string tokens;  // the words as the model's training text had them, for tokenised BLEU
};

// May be used from several threads at the same time, as a Session may.
class Translator {
public:
    // Throws UsageError where the model does not translate. `options` are those of translate()
    // without options of its own.
    explicit Translator(const Model& model, const SessionOptions& session = {},
                        const TranslateOptions& options = {});
    // An ensemble: the mean of the models' probabilities. Throws UsageError unless their languages
    // and vocabularies are equal.
    explicit Translator(std::span<const Model> models, const SessionOptions& session = {},
                        const TranslateOptions& options = {});

    // The best translations of each line, in the order of the lines, the best first; fewer than
    // options.best where the search found fewer. Lines are translated together: a result does not
    // depend on the others. An empty line has one empty translation. Throws Error, which names the
    // line counted from 1, for broken UTF-8, NUL bytes, line breaks and sources that are too long.
    std::vector<std::vector<Translation>> translate(std::span<const std::string> lines) const;
    std::vector<std::vector<Translation>> translate(std::span<const std::string> lines,
                                                    const TranslateOptions& options) const;

    // Pieces of a line, its end included. Throws Error as translate() does, without naming a line.
    std::size_t source_pieces(std::string_view line) const;

    const std::string& source_language() const;  // such as "en"
    const std::string& target_language() const;
    std::int64_t longest() const;  // pieces that a source or a translation may have, end included
    // Bytes that are kept between calls: packed weights, plans, states of the search. It grows, up
    // to a bound, with the different lengths of sentences that were seen.
    std::uint64_t kept_bytes() const;
    // Bytes that one call takes in addition, for `lines` sentences of at most `pieces` pieces each:
    // an upper bound.
    std::uint64_t bytes_to_translate(std::size_t lines, std::size_t pieces,
                                     const TranslateOptions& options) const;
    int threads() const;
    std::string precision() const;           // "fp32", "bf16" or "int8"
    std::vector<std::string> notes() const;  // lines worth showing to a user
    const TranslateOptions& options() const;

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
