// What the sub-commands of `cait data` share.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "data/bad_images.h"
#include "data/dataset.h"

namespace cait::app {

void add_data_stats(CLI::App& data);
void add_data_preview(CLI::App& data);
void add_data_verify(CLI::App& data);
void add_data_split(CLI::App& data);
void add_data_pack(CLI::App& data);
void add_data_get(CLI::App& data);

// The data set that a command is about, and --json.
struct DataArguments {
    std::string uri;
    bool json = false;

    void add_to(CLI::App& command);
    DatasetPtr open() const;
    // What training would read under that name; where there is more, a line on stderr says so.
    DatasetPtr open_training_part() const;
};

void add_threads_option(CLI::App& command, int& threads);  // default: all cores

nlohmann::json bad_images_json(std::span<const BadImage> images);

}  // namespace cait::app
