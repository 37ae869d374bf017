// The arguments of `cait train`, parsed in one place and carried out where LibTorch is linked.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "recipe/recipe.h"

namespace cait::app {

struct TrainArguments {
    Recipe recipe;                        // resolved: file, then the words of the command line
    std::vector<std::string> left_out{};  // keys of the recipe that the chosen model does not have
    std::string folder;
    bool resume = false;
    int processes = 1;  // to start; 0: this one belongs to a run that somebody else started
};

// Tells which of the recipe's settings do not apply, where there are any.
void print_left_out(const TrainArguments& arguments);

void run_on_torch(const TrainArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
