// The arguments of `cait attend`, and what is done with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attention_look.h"
#include "executor.h"
#include "pictures.h"

namespace cait::app {

struct AttendArguments : AttentionRequest {
    ModelOptions model;
    std::vector<std::string> weights;  // of one model, or NAME=FILE and FILE of several
    std::string classes;               // file with names
    PictureArguments pictures;
    ExecutorOptions executor;
    std::string output;     // .png or .jpg of all, or a folder for a picture of each
    std::string raw;        // .npy, or .safetensors of several models
    bool json = false;      // on stdout
    std::int64_t side = 0;  // of a picture in pixels; 0: the photograph's own

    bool into_folder() const;  // whether `output` is one
};

void run(const AttendArguments& arguments, const Invocation& invocation);

}  // namespace cait::app
