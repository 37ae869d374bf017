// Images and the files that say what is in them, in two folders of a folder: images/ and labels/,
// with or without a level for the parts of the set, above or below them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset_uri.h"

namespace cait {

// Where images and labels lie, relative to the root.
struct PairedFolders {
    std::filesystem::path root;
    std::string images, labels;
};

// FOLDER/train/images, FOLDER/images/train or FOLDER/images; the options "images" and "labels" name
// other folders, and "valid" counts as "val". Throws Error that says what was expected where.
PairedFolders find_paired_folders(const DatasetUri& uri, Split split);

// Those that the folder has, by the usual names.
std::vector<Split> paired_folder_parts(const std::filesystem::path& folder);

}  // namespace cait
