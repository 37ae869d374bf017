// What runs the model of a command: our engine, in whatever program, or LibTorch, in `cait-torch`.
#pragma once

#include <memory>

#include "command.h"
#include "models/executor.h"

namespace cait::app {

struct ExecutorOptions {
    std::string executor = "engine";
    std::string precision = "fp32";
    int threads = 0;         // 0: all that there are
    std::size_t batch = 16;  // kBySize until for_model()
    std::string cache;       // file for packed weights

    // As many images as keep all threads at work for a while: 32 of 224 pixels, more of smaller
    // ones, whose threads would wait for each other at the end of every batch.
    static constexpr std::size_t kBySize = 0;

    enum class Torch { no, yes };  // whether the command takes --executor torch
    // --precision, --batch, --packed and where it may be LibTorch --executor
    void add_to(CLI::App& command, Torch torch = Torch::no);
    ExecutorOptions for_model(const Model& model) const;
};

void add_tta_option(CLI::App& command, std::string& tta);

// With --executor torch, `cait` goes on as `cait-torch` and does not come back from here.
void hand_over_if_torch(const ExecutorOptions& options, const Invocation& invocation);

// `keep` as SessionOptions has it.
std::unique_ptr<Executor> make_executor(const Model& model, const ExecutorOptions& options,
                                        const std::vector<std::string>& keep = {});

// The part of it that differs: LibTorch's, or an Error in a program that has none.
std::unique_ptr<Executor> make_torch_executor(const Model& model, const ExecutorOptions& options);
void continue_in_torch(const Invocation& invocation);

}  // namespace cait::app
