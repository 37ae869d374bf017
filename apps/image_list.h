// Which files a command means: images, folders of them, patterns, lists of names, or a list on
// stdin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"

namespace cait::app {

struct ListedImage {
    std::string file;
    std::optional<std::string> folder;  // that it was found in, below the one that was named
};

// Folders are searched at any depth, in order; a name ending with .txt has a file name in each
// line,
// "-" reads such a list from stdin; a name with * ? or [ that is no file is a pattern. Throws Error
// when a folder or a pattern has no image in it.
std::vector<ListedImage> list_files(const std::vector<std::string>& words);

// The class that a folder is called after, if it is one of the model's: by name or WordNet id.
std::optional<std::string> class_of_folder(const Model& model, const std::string& folder);

}  // namespace cait::app
