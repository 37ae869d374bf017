// The arguments of `cait predict` and `cait attend`, parsed in one place and carried out where
// LibTorch is linked.
#pragma once

#include "pictures.h"

namespace cait::app {

struct PredictArguments {
    ModelOptions model;
    std::string weights;
    std::string classes;  // file with names
    PictureArguments pictures;
    std::size_t top = 5;
    bool json = false;
};

struct AttendArguments {
    ModelOptions model;
    std::string weights;
    std::string classes;  // file with names
    PictureArguments pictures;
    std::string output;
    std::int64_t layer = 0;
    bool heads = false;
    std::int64_t side = 0;  // of a picture in pixels; 0: the photograph's own
};

void run_on_torch(const PredictArguments& arguments, const Invocation& invocation);
void run_on_torch(const AttendArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
