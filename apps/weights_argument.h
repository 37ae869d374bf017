// The argument that says which weights a command opens.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace cait::app {

// --weights FILE, RUN or official.
CLI::Option* add_weights_option(CLI::App& command, std::string& weights);

// What it means: the file to open, fetched where it is a published one that is not there yet.
// Progress goes to stderr, and so do notes, unless somebody wants to tell them later.
std::string weights_file(const std::string& weights, const std::string& model,
                         std::vector<std::string>* notes = nullptr);

}  // namespace cait::app
