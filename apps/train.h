// The arguments of `cait train`, parsed in one place and carried out where LibTorch is linked.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "system/file_place.h"
#include "train/recipe/recipe.h"

namespace cait::app {

struct TrainArguments {
    Recipe recipe;                     // resolved: file, then the words of the command line
    std::vector<std::string> notes{};  // what the words changed beside themselves
    std::string folder;
    bool resume = false;
    bool find_lr = false;  // try learning rates instead of training
    int processes = 1;     // to start; 0: this one belongs to a run that somebody else started
    std::vector<std::string> words_of_one =
        {};         // of several; empty: this program's without --nproc
    int seeds = 0;  // runs that differ in their seed, each in a folder of its own; 0: one run
    std::vector<std::string> tests = {};  // further data sets for the final weights of each seed
};

inline constexpr const char* kSeedsFile = "seeds.json";  // of a study, in its folder

void print_notes(const TrainArguments& arguments);

void run_on_torch(const TrainArguments& arguments, const Invocation& invocation);

void write_text(const FilePlace& place, const std::string& text);  // whole or not at all

// One run; the exit code of a program that does nothing else.
int train_once(const TrainArguments& arguments, const Invocation& invocation);
void train_seeds(const TrainArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
