// The public data sets that `cait data get` knows: where their authors publish them, and what the
// files have to be. Only what is freely available without an account.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/download/download.h"

namespace cait {

struct ListedFile {
    std::string name;
    ExpectedFile expected;
};

struct ListedDataset {
    std::string name;  // also its scheme: cifar10:FOLDER opens what was fetched
    std::string summary;
    std::string address;  // of the folder that holds the files
    std::vector<ListedFile> files;

    std::uint64_t size() const;  // of all files, in bytes
};

const std::vector<ListedDataset>& downloadable_datasets();

// Throws UsageError with the nearest names.
const ListedDataset& find_downloadable(std::string_view name);

// Folder and file with exactly one slash between them.
std::string join_address(std::string_view folder, std::string_view file);

}  // namespace cait
