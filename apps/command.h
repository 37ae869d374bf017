// What the commands share, above all the options that choose a model and its weights.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "command_table.h"
#include "models/open_model.h"
#include "option_groups.h"
#include "preparation_options.h"

namespace cait::app {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary);
// What --help ends with.
void set_example(CLI::App& command, const std::string& example);

// An option that takes one value each time that it is given: what follows may be another argument.
CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& help);

// The option --set of commands that take a recipe, and what was given as (key, value).
void add_recipe_settings(CLI::App& command, std::vector<std::string>& set);
SettingList recipe_settings(const std::vector<std::string>& set);  // throws UsageError without '='

// --model, --set, --allow-unused and, where weights are read, --ema and --allow-non-finite.
struct ModelOptions {
    std::string model;
    std::vector<std::string> set;
    bool prefer_ema = false;
    bool allow_non_finite = false;
    bool allow_fresh_head = false;
    bool allow_unused = false;  // settings that nothing reads
    PreparationOptions preparation;

    void add_to(CLI::App& command, bool with_weights);
    // --allow-fresh-head, of commands that use what the class head answers.
    void add_fresh_head_to(CLI::App& command);
    // Throws UsageError unless each is model.KEY=VALUE, and for a preparation that is none.
    SettingList settings() const;
    // With these weights, as find_model() takes them.
    ModelWords words(const std::string& weights, const std::string& classes = "") const;
};

void add_allow_unused(CLI::App& command, bool& allowed);

// Before hours of work: throws Error unless a file of this name can be written. Leaves nothing
// behind.
void check_output(const std::filesystem::path& file);

// Throws Error where it cannot be made; one that is there is fine.
void make_folder(const std::string& name);

// From here on nothing but `outputs` can be written (empty names are skipped), nothing can be
// fetched and no program started, see system/sandbox.h. Called after find_model(), when all that
// remains is to read and to compute.
void enter_sandbox_for(const std::vector<std::string>& outputs);

// 12034128 → "12.0 M"; 1.4e9 bytes → "1.4 GB".
std::string count_text(std::int64_t count);
std::string bytes_text(std::int64_t bytes);

}  // namespace cait::app
