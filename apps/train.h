// The arguments of `cait train`, parsed in one place and carried out where LibTorch is linked.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "recipe/recipe.h"

namespace cait::app {

struct TrainArguments {
    Recipe recipe;                     // resolved: file, then the words of the command line
    std::vector<std::string> notes{};  // what the words changed beside themselves
    std::string folder;
    bool resume = false;
    bool find_lr = false;  // try learning rates instead of training
    int processes = 1;     // to start; 0: this one belongs to a run that somebody else started
};

void print_notes(const TrainArguments& arguments);

void run_on_torch(const TrainArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
