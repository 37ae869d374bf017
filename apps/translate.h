// The arguments of `cait translate`, and what is done with them.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "search_options.h"

namespace cait::app {

struct TranslateArguments {
    ModelOptions model;
    std::vector<std::string> weights;  // several: an ensemble
    std::string input = "-";           // file; "-": standard input
    std::string output;                // file; empty: standard output
    SearchOptions search;
    PublishedText published;
    std::string precision = "fp32";
    int threads = 0;    // 0: all that there are
    std::string cache;  // file for packed weights
    bool json = false;
    bool skip_bad = false;
};

void run(const TranslateArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
