// Images in, vectors out: what `cait embed`, `index`, `search` and the neighbours of `cait eval`
// share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "data/dataset.h"
#include "data/dataset_uri.h"
#include "evaluate/embedded_set.h"
#include "executor.h"

namespace cait::app {

struct EmbedArguments {
    ModelOptions model;
    std::string weights;
    std::string tap = "features";
    bool flip = false;
    ExecutorOptions executor;
    int threads = 1;
    bool skip_bad = false;

    // All but --weights, which some commands can do without.
    void add_to(CLI::App& command);
    void add_layer_options(CLI::App& command);  // of them --tap, --flip and --skip-bad
    ModelWords words() const { return model.words(weights); }
};

// A data set under its name, or files that nothing is known about.
struct EmbedSubject {
    DatasetPtr images;
    std::string data;  // its name; empty: files
    Split part = Split::any;

    static EmbedSubject of_data(const std::string& uri, Split part);
    static EmbedSubject of_files(const std::vector<std::string>& words);
};

// A model that is ready to look at images.
class Embedder {
public:
    Embedder(const EmbedArguments& arguments, Model model);

    const Model& model() const { return model_; }
    EmbeddingMaker maker() const;

    // With all the labels that the data set has. Progress and unreadable images go to stderr.
    // `logits`: where to put the classifier's answers to the same images.
    EmbeddedSet embed(const EmbedSubject& subject, const std::string& title,
                      Vectors* logits = nullptr) const;

private:
    const EmbedArguments& arguments_;
    Model model_;
    ExecutorOptions running_;
    std::unique_ptr<Executor> executor_;
    std::string fingerprint_;
};

}  // namespace cait::app
