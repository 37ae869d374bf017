#include "search_options.h"

#include <fmt/format.h>

#include "data/sentences/published_vocabulary.h"
#include "option_groups.h"

namespace cait::app {

namespace {

constexpr const char* kSearch[] = {"--beam", "--length-penalty", "--longest", "--cut", "--pieces"};

}  // namespace

void SearchOptions::add_to(CLI::App& command) {
    command_ = &command;
    const OptionGroup group(command, "Translation");
    command.add_option("--beam", options.beam, "Beginnings that are followed; 1: greedy")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    command
        .add_option("--length-penalty", options.length_penalty,
                    "Scores are sums of log-probabilities by length to this power: more makes "
                    "translations longer")
        ->check(CLI::Range(-10.0, 10.0))
        ->capture_default_str();
    command
        .add_option("--longest", options.longest,
                    "Pieces of a translation at most; default: 50 more than its source has")
        ->check(CLI::Range(1, 65536));
    command.add_flag("--cut", options.cut,
                     "Cut sentences that are too long for the model, which are otherwise an error");
    command
        .add_option("--pieces", options.pieces,
                    "Pieces of the sources that go through together, padding included")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
}

void SearchOptions::expect_none(const std::string& model) const {
    for (const char* name : kSearch)
        if (command_ != nullptr && command_->get_option(name)->count() > 0)
            throw UsageError(
                fmt::format("{}: expected a model that translates, found {}", name, model));
}

std::string SearchOptions::text() const {
    return fmt::format("beam {}, length penalty {:g}", options.beam, options.length_penalty);
}

void PublishedText::add_to(CLI::App& command) {
    const OptionGroup group(command, "Published models");
    command
        .add_option("--published-codes", codes,
                    "Merges of subword-nmt (bpecodes), of a model that fairseq has published")
        ->type_name("FILE");
    command.add_option("--published-dictionary", dictionary, "Its list of pieces (dict.en.txt)")
        ->type_name("FILE");
    command.add_option("--source", source, "Its source language, such as en")
        ->type_name("LANGUAGE");
    command.add_option("--target", target, "Its target language, such as de")
        ->type_name("LANGUAGE");
}

void PublishedText::check() const {
    if (codes.empty() != dictionary.empty())
        throw UsageError(codes.empty() ? "--published-dictionary: expected --published-codes, too"
                                       : "--published-codes: expected --published-dictionary, too");
    if (given()) return;
    for (const auto& [value, name] : {std::pair{&source, "--source"}, {&target, "--target"}})
        if (!value->empty())
            throw UsageError(fmt::format(
                "{}: expected --published-codes; other model files name their languages", name));
}

void PublishedText::apply(Model& model) const {
    if (!given()) return;
    const VocabularyPtr vocabulary = read_published_vocabulary(codes, dictionary);
    model.set_text({source, target, vocabulary->kind(), vocabulary->bytes()});
}

}  // namespace cait::app
