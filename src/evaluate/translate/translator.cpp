// cait/translator.h on top of the engine.
#include "cait/translator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/piece_ids.h"
#include "cait/error.h"
#include "data/sentences/vocabulary.h"
#include "evaluate/translate/piece_translator.h"
#include "kernels/format.h"
#include "models/catalogue.h"

namespace cait {

namespace {

const TextFacts& facts_of(const Model& model) {
    TextNetwork::of(model);  // throws
    if (!model.text())
        throw Error(fmt::format(
            "{}: expected a model file with a vocabulary, found none; that of fairseq's "
            "published models is named apart",
            model.spec().name));
    return *model.text();
}

const TextFacts& common_facts(std::span<const Model> models) {
    if (models.empty()) throw UsageError("translate: expected at least one model, found none");
    const TextFacts& first = facts_of(models.front());
    for (const Model& model : models) {
        const TextFacts& facts = facts_of(model);
        if (facts.source != first.source || facts.target != first.target)
            throw UsageError(fmt::format(
                "{}: expected {} to {}, as the first model has, found {} "
                "to {}",
                model.spec().name, first.source, first.target, facts.source, facts.target));
        if (facts.kind != first.kind || facts.vocabulary != first.vocabulary)
            throw UsageError(
                fmt::format("{}: expected the vocabulary of the first model, found another",
                            model.spec().name));
    }
    return first;
}

}  // namespace

struct Translator::State {
    TranslateOptions options;
    std::string source, target;
    VocabularyPtr vocabulary;
    PieceTranslator pieces;

    State(std::span<const Model> models, const SessionOptions& session,
          const TranslateOptions& wanted)
        : State(common_facts(models), models, session, wanted) {}

    State(const TextFacts& facts, std::span<const Model> models, const SessionOptions& session,
          const TranslateOptions& wanted)
        : options(wanted),
          source(facts.source),
          target(facts.target),
          vocabulary(read_vocabulary(facts.kind, facts.vocabulary, models.front().spec().name)),
          pieces(models, session) {
        check_options(options);
        if (vocabulary->size() != pieces.vocabulary())
            throw Error(fmt::format("{}: expected a vocabulary of {} pieces, found {}",
                                    models.front().spec().name, pieces.vocabulary(),
                                    vocabulary->size()));
    }

    // With its end; `where` opens messages.
    std::vector<std::int64_t> encode(std::string_view line, const std::string& where) const {
        check_sentence(line, where);
        std::vector<std::int64_t> found = vocabulary->encode(line);
        found.push_back(kEnd);
        return found;
    }

    // Cut to what the model takes, where that is asked for.
    void fit(std::vector<std::int64_t>& found, const std::string& where, bool cut) const {
        const auto most = std::size_t(pieces.longest());
        if (found.size() <= most) return;
        if (!cut)
            throw Error(fmt::format("{}: expected at most {} pieces with the end, found {}", where,
                                    most, found.size()));
        found.resize(most);
        found.back() = kEnd;
    }

    std::vector<std::string> written(std::span<const std::int64_t> numbers) const {
        std::vector<std::string> texts;
        for (const std::int64_t number : numbers) texts.push_back(vocabulary->piece(number));
        return texts;
    }

    Translation translation(const Hypothesis& found, std::span<const std::int64_t> of,
                            bool attention) const {
        const auto text = std::span(found.pieces).first(found.pieces.size() - 1);
        Translation result{.text = vocabulary->decode(text),
                           .score = found.score,
                           .pieces = written(found.pieces),
                           .piece_scores = found.log_probabilities,
                           .attention = {},
                           .source_pieces = {},
                           .tokens = vocabulary->tokens(text)};
        if (attention) {
            result.source_pieces = written(of);
            result.attention =
                Tensor::of({std::int64_t(found.pieces.size()), std::int64_t(of.size())},
                           std::span<const float>(found.attention));
        }
        return result;
    }

    std::vector<std::vector<Translation>> translate(std::span<const std::string> lines,
                                                    const TranslateOptions& how) const {
        check_options(how);
        std::vector<std::vector<std::int64_t>> sources;
        std::vector<std::size_t> places;  // of those lines that are not empty
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::string where = fmt::format("line {}", i + 1);
            std::vector<std::int64_t> found = encode(lines[i], where);
            if (found.size() == 1) continue;
            fit(found, where, how.cut);
            sources.push_back(std::move(found));
            places.push_back(i);
        }
        const std::vector<std::vector<Hypothesis>> found = pieces.translate(sources, how);
        std::vector<std::vector<Translation>> results(lines.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            for (const Hypothesis& one : found[i])
                results[places[i]].push_back(translation(one, sources[i], how.attention));
        for (auto& of_line : results)
            if (of_line.empty()) of_line.emplace_back();
        return results;
    }
};

Translator::Translator(const Model& model, const SessionOptions& session,
                       const TranslateOptions& options)
    : Translator(std::span(&model, 1), session, options) {}

Translator::Translator(std::span<const Model> models, const SessionOptions& session,
                       const TranslateOptions& options)
    : state_(std::make_shared<const State>(models, session, options)) {}

std::vector<std::vector<Translation>> Translator::translate(
    std::span<const std::string> lines) const {
    return state_->translate(lines, state_->options);
}

std::vector<std::vector<Translation>> Translator::translate(std::span<const std::string> lines,
                                                            const TranslateOptions& options) const {
    return state_->translate(lines, options);
}

std::size_t Translator::source_pieces(std::string_view line) const {
    return state_->encode(line, "source").size();
}

const std::string& Translator::source_language() const { return state_->source; }
const std::string& Translator::target_language() const { return state_->target; }
std::int64_t Translator::longest() const { return state_->pieces.longest(); }
std::uint64_t Translator::kept_bytes() const { return state_->pieces.kept_bytes(); }
std::uint64_t Translator::bytes_to_translate(std::size_t lines, std::size_t pieces,
                                             const TranslateOptions& options) const {
    return state_->pieces.bytes_to_translate(lines, pieces, options);
}
int Translator::threads() const { return state_->pieces.share().threads; }
std::string Translator::precision() const {
    return kernels::row_of(state_->pieces.share().options.precision).precision_name;
}
std::vector<std::string> Translator::notes() const {
    const std::string& note = state_->pieces.share().store->note();
    return note.empty() ? std::vector<std::string>{} : std::vector{note};
}
const TranslateOptions& Translator::options() const { return state_->options; }

}  // namespace cait
