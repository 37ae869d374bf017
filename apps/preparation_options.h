// The options that say how images are prepared, in place of what the file says or its model
// assumes. ModelOptions has them, for commands that look at images or write a model file.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "image/preparation_change.h"

namespace cait::app {

struct PreparationOptions {
    std::string normalisation;  // --preparation
    std::string mean, std;      // numbers with commas
    std::optional<double> crop_ratio;
    std::string crop_mode, interpolation;
    std::string image_size;  // of the model: a short form of --set model.image_size=…
    bool offered = false;    // whether the command has these options

    void add_to(CLI::App& command);
    // Throws UsageError, naming the option, for a value that is none.
    PreparationChange change() const;
    bool any() const { return !image_size.empty() || change().any(); }
};

}  // namespace cait::app
