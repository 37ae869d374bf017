// The table of data sets. Each file of data/sources/ has rows of it: NAME.cpp defines
// NAME_sources(), which the build finds by the file's name (cmake/DataSources.cmake). Opening,
// help, and what else depends on a data set is made from the rows.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

struct DataSource {
    std::string scheme;
    std::string form;  // "cifar100:PATH?labels=coarse|fine&split=train|test"
    std::string help;
    std::vector<std::string> options = {};  // besides those that all take (data/open_dataset.h)
    DatasetPtr (*open)(const DatasetUri& uri, Split split) = nullptr;
    bool is_layout = false;  // of anybody's images; otherwise a published data set
    bool needs_path = true;
    // What Split::val opens is the part that the authors call test: there is no other.
    bool val_is_test = false;
    bool has_trainval = false;     // ?split=trainval: the training and validation parts together
    std::string part_option = {};  // another option that chooses the part, as split does
    // Where it depends on the files whether a path has parts: those that it has.
    std::vector<Split> (*parts)(const std::filesystem::path& path) = nullptr;
};

// Layouts first, each by scheme.
const std::vector<DataSource>& data_sources();

// All rows, in the order of the files. Generated.
std::vector<DataSource> listed_data_sources();

}  // namespace cait
