// The options that name weights and classes, and how a command opens what they mean: find_model()
// before it enters its sandbox, open_with_notes() afterwards.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "models/open_model.h"

namespace cait::app {

// --weights FILE, RUN or official; of commands that take several models also NAME=FILE.
CLI::Option* add_weights_option(CLI::App& command, std::string& weights);
CLI::Option* add_several_weights(CLI::App& command, std::vector<std::string>& weights);
void add_classes_option(CLI::App& command, std::string& file);

// `--weights a.pth b.pth rose.jpg`: the first word that cannot mean weights and all after it are
// moved to the front of `images`.
void move_images_out(std::vector<std::string>& weights, std::vector<std::string>& images);

// The library's, with a progress bar on stderr while a file is fetched.
FoundModel find_model(const ModelWords& words);
// Of one FILE as --model and --set say; of several, and of NAME=FILE, as one_of_several() has it.
std::vector<FoundModel> find_models(const std::vector<std::string>& weights,
                                    const ModelWords& common);

void print_notes(const std::vector<std::string>& notes);
// The library's; what there is to say goes to stderr.
OpenedModel open_with_notes(const FoundModel& found);
std::vector<OpenedModel> open_with_notes(const std::vector<FoundModel>& found);

}  // namespace cait::app
