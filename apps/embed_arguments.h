// The options of commands that turn images into vectors: `cait embed`, `index`, `search`, and the
// neighbours of `cait eval` and features of `cait analyze`.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "evaluate/embedder.h"
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
    ModelWords words() const;
};

// On the engine or as --executor says; what it tells goes to stderr.
Embedder make_embedder(const EmbedArguments& arguments, Model model);

// The images that the words mean, as list_files() has it.
EmbedSubject embed_files(const std::vector<std::string>& words);

}  // namespace cait::app
