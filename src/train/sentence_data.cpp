#include "train/sentence_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cait/error.h"
#include "data/sentences/learn_vocabulary.h"
#include "data/sentences/published_vocabulary.h"
#include "models/file_facts.h"
#include "train/recipe/objective_rows.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

TextFacts facts_of(const Vocabulary& vocabulary) {
    return {
        .source = {}, .target = {}, .kind = vocabulary.kind(), .vocabulary = vocabulary.bytes()};
}

// A model of ours, what SentencePiece or fairseq's dictionaries are, or "CODES,DICTIONARY".
TextFacts read_from_file(const std::string& file) {
    if (const std::size_t comma = file.find(','); comma != std::string::npos)
        return facts_of(*read_published_vocabulary(file.substr(0, comma), file.substr(comma + 1)));
    if (!file.ends_with(".safetensors")) return facts_of(*read_vocabulary_file(file));
    std::optional<TextFacts> found = read_facts(TensorFile::open(file).metadata, file).text;
    if (!found)
        throw Error(fmt::format(
            "{}: expected a model that translates, with its vocabulary, found none", file));
    return *found;
}

// Text that the first process makes, in all of them. Where it throws Error, all do.
std::string from_first(ProcessGroup& group, const std::function<std::string()>& make) {
    if (group.world() == 1) return make();
    std::string text, problem;
    if (group.is_main()) {
        try {
            text = make();
        } catch (const Error& error) {
            problem = error.what();
        }
    }
    if (const std::string found = group.all_gather(problem).front(); !found.empty())
        throw Error(found);
    return group.all_gather(text).front();
}

}  // namespace

TextFacts make_vocabulary(const Recipe& recipe, const Dataset& train, ProcessGroup& group,
                          std::vector<std::string>& notes) {
    const std::string& wanted = recipe.data.vocabulary;
    const std::optional<std::int64_t> size = pieces_to_learn(wanted);
    const std::string packed = from_first(group, [&] {
        const TextFacts made =
            size ? facts_of(*learn_vocabulary(
                       train, {.size = *size, .seed = std::uint64_t(recipe.train.seed)}))
                 : read_from_file(wanted);
        return made.kind + '\n' + made.vocabulary;
    });
    const std::size_t line = packed.find('\n');
    TextFacts facts{.source = {},
                    .target = {},
                    .kind = packed.substr(0, line),
                    .vocabulary = packed.substr(line + 1)};
    const std::int64_t found =
        read_vocabulary(facts.kind, facts.vocabulary, "data.vocabulary")->size();
    notes.push_back(
        size ? fmt::format("data.vocabulary={}: {} pieces learned from {} pairs", wanted, found,
                           train.size())
             : fmt::format("data.vocabulary: {} pieces ({}) of {}", found, facts.kind, wanted));
    return facts;
}

TextLoaderOptions training_text(const Recipe& recipe, const SentenceData& sentences,
                                std::size_t rank, std::size_t world) {
    TextLoaderOptions options;
    options.pieces = recipe.data.pieces;
    options.longest = sentences.longest;
    options.seed = std::uint64_t(recipe.train.seed);
    options.rank = rank;
    options.world = world;
    return options;
}

// As many at once as a part of a step has.
TextLoaderOptions validation_text(const Recipe& recipe, const SentenceData& sentences,
                                  std::size_t world) {
    TextLoaderOptions options;
    const std::int64_t parts = std::max<std::int64_t>(1, recipe.optim.accumulate);
    options.pieces = std::max(sentences.longest, recipe.data.pieces / std::int64_t(world) / parts);
    options.longest = sentences.longest;
    options.shuffle = false;
    return options;
}

TextBatches batches_of(const EncodedPairs& pairs, const TextLoaderOptions& options) {
    return TextBatches(pairs.lengths(), {.pieces = options.pieces,
                                         .longest = options.longest,
                                         .seed = options.seed,
                                         .shuffle = options.shuffle,
                                         .rank = options.rank,
                                         .world = options.world});
}

}  // namespace cait
