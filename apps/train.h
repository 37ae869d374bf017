// The words of `cait train`, and what they mean once the recipe is read. Only --list and --print
// are done without LibTorch.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "system/file_place.h"
#include "train/recipe/recipe.h"

namespace cait::app {

struct TrainWords {
    std::string recipe;
    std::string out;
    std::string resume;
    SettingList settings;  // every --set and its short forms, in the order of the command line
    bool print = false;
    bool list = false;
    bool find_lr = false;
    bool allow_unused = false;  // keys that nothing reads
    int processes = 1;
    int seeds = 0;
    std::vector<std::string> tests;
};

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

// Reads the recipe and finds the files that it names. Throws Error and UsageError for what is
// wrong.
TrainArguments resolve(const TrainWords& words);

// Trains; in `cait` that means to go on as `cait-torch`, before anything is read.
void run_on_torch(const TrainWords& words, const Invocation& invocation);

void write_text(const FilePlace& place, const std::string& text);  // whole or not at all

// One run; the exit code of a program that does nothing else.
int train_once(const TrainArguments& arguments, const Invocation& invocation);
void train_seeds(const TrainArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
