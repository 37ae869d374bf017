// Weights of several models on one command line: FILE, or NAME=FILE where a file does not say whose
// it is. FILE is whatever --weights takes.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace cait::app {

// NAME=FILE, or FILE alone. A file whose name has a '=' in it is found as a file first.
struct WeightsWord {
    std::string name;     // empty: none was given
    std::string weights;  // file, run or "official"
};
WeightsWord weights_word(const std::string& text);

struct NamedWeights {
    std::string file;
    std::string model;  // empty: the file says
    SettingList settings;
};

// NAME is a model; FILE alone is of the model that it says, otherwise of --model. Throws
// UsageError, which begins with `option`, for a NAME that there is none of.
NamedWeights named_weights(const std::string& text, const ModelOptions& options,
                           const std::string& option);

// What of `texts` is published and not there yet: afterwards nothing can be fetched any more.
void fetch_named(const std::vector<std::string>& texts, const ModelOptions& options);

// Short names for files. best.safetensors of two runs are told apart by their folders, and if need
// be by a number.
std::vector<std::string> unique_names(const std::vector<std::string>& files);

// The models of --weights, in order: of one word as --model and --set say, of several as
// named_weights() has it. Their notes go to stderr. They are called what they call themselves, or
// by their files where two have one name.
struct NamedModel {
    std::string name;
    std::string weights;  // the word
    NamedWeights source;
    Model model;
};
std::vector<NamedModel> load_named(const std::vector<std::string>& weights,
                                   const ModelOptions& options, const std::string& classes);

// Whether a word after the first weights of an option means more of them, and not an image: the
// name of a weight file, a run's folder, official, or NAME=FILE.
bool means_weights(const std::string& word);

// --weights of commands that take several models, and what follows it: words as long as they mean
// weights stay, the others are moved to the front of `images`.
CLI::Option* add_several_weights(CLI::App& command, std::vector<std::string>& weights);
void part_words(std::vector<std::string>& weights, std::vector<std::string>& images);

}  // namespace cait::app
