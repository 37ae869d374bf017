// The options of commands that translate: the search, and the vocabulary of models that others have
// published.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cait/translator.h"

namespace cait::app {

// --beam, --length-penalty, --longest, --cut, --pieces
struct SearchOptions {
    TranslateOptions options;

    void add_to(CLI::App& command);
    // Throws UsageError, naming the model, for an option that was given: it does not translate.
    void expect_none(const std::string& model) const;
    std::string text() const;  // for people: "beam 4, length penalty 1"

private:
    CLI::App* command_ = nullptr;
};

// --published-codes, --published-dictionary, --source, --target: of files of fairseq, which hold
// none of it.
struct PublishedText {
    std::string codes, dictionary;
    std::string source, target;  // languages

    void add_to(CLI::App& command);
    void check() const;  // throws UsageError for one option without the others
    bool given() const { return !codes.empty(); }
    // Gives the model its vocabulary and languages, where options say so.
    void apply(Model& model) const;
};

}  // namespace cait::app
