// The images that a command is to look at: files, or some of a data set.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "command.h"
#include "data/dataset.h"
#include "image/image.h"

namespace cait::app {

struct Picture {
    std::string name;
    std::optional<std::string> label;  // where the data set knows it
    // Decodes it. A folder of photographs need not fit into memory.
    std::function<Image()> read;
    std::filesystem::path file{};  // empty: the data set has it in a file with others
    // In files of results: the data set's, or that which the file's name is.
    std::optional<std::int64_t> number{};

    // In pixels; of a file by its header alone.
    std::int64_t longest_side() const;
};

struct PictureArguments {
    std::vector<std::string> files;
    std::string data;
    std::size_t count = 12;
    std::uint64_t seed = 0;

    void add_to(CLI::App& command);
    void check() const;  // throws UsageError unless there is one of the two
    std::vector<Picture> list() const;
    DatasetPtr drawn() const;  // of --data
};

// A data set's name for a class as the model has it: ImageNet's folders are WordNet ids.
std::string label_for(const Model& model, const std::string& label);

}  // namespace cait::app
