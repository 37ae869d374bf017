// Where a published data set lies: people name the folder that they unpacked it into, or the folder
// that the archive made in there.
#pragma once

#include <filesystem>
#include <string>

#include "data/dataset_uri.h"

namespace cait {

// PATH itself, or PATH/unpacked, whichever holds `file`. Throws Error that names what was expected
// where; where only file.xz or file.gz is there it says how to unpack it.
std::filesystem::path find_root(const DatasetUri& uri, const std::string& unpacked,
                                const std::string& file);

// Of data sets that are published in two parts, what is no training data is test data.
inline bool is_training(Split split) {
    return split == Split::any || split == Split::train || split == Split::trainval;
}

}  // namespace cait
