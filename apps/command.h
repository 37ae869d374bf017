// What the sub-commands share: how each adds itself to the program, and the options that choose a
// model and its weights.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cait/model.h"

namespace cait::app {

// The words that the program was started with.
struct Invocation {
    int argc = 0;
    char** argv = nullptr;
    int* status = nullptr;  // where a command that did its work puts another exit code than 0
};

void add_models_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_weights_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_machine_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_forward_command(CLI::App& app, const Invocation& invocation);
void add_eval_command(CLI::App& app, const Invocation& invocation);
void add_train_command(CLI::App& app, const Invocation& invocation);
void add_predict_command(CLI::App& app, const Invocation& invocation);
void add_attend_command(CLI::App& app, const Invocation& invocation);
void add_analyze_command(CLI::App& app, const Invocation& invocation);
void add_preprocess_command(CLI::App& app);
void add_embed_command(CLI::App& app, const Invocation& invocation);
void add_study_command(CLI::App& app, const Invocation& invocation);
void add_index_command(CLI::App& app, const Invocation& invocation);
void add_search_command(CLI::App& app, const Invocation& invocation);

// Adds a sub-command whose --help ends with an example.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example);

// An option that takes one value each time that it is given: what follows may be another argument.
CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& help);

// The option --set of commands that take a recipe, and what was given as (key, value).
void add_recipe_settings(CLI::App& command, std::vector<std::string>& set);
SettingList recipe_settings(const std::vector<std::string>& set);  // throws UsageError without '='

// --model, --set and, where weights are read, --ema and --allow-non-finite.
struct ModelOptions {
    std::string model;
    std::vector<std::string> set;
    bool prefer_ema = false;
    bool allow_non_finite = false;

    void add_to(CLI::App& command, bool with_weights);
    SettingList settings() const;  // throws UsageError unless each is model.KEY=VALUE
    Model::LoadOptions load_options() const;
};

// Before hours of work: throws Error unless a file of this name can be written. Leaves nothing
// behind.
void check_output(const std::filesystem::path& file);

// 12034128 → "12.0 M"; 1.4e9 bytes → "1.4 GB".
std::string count_text(std::int64_t count);
std::string bytes_text(std::int64_t bytes);

}  // namespace cait::app
