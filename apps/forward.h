// The arguments of `cait forward`, parsed in one place and carried out where LibTorch is linked.
#pragma once

#include "command.h"

namespace cait::app {

struct ForwardArguments {
    ModelOptions model;
    std::string weights;
    std::string input;
    std::string output;
    std::vector<std::string> taps;
    std::string precision = "fp32";
    std::string executor = "torch";
    std::size_t batch = 16;
    std::uint64_t seed = 0;
};

// See torch_handoff.cpp for what this does in which program.
void run_on_torch(const ForwardArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
