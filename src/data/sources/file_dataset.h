// A data set that is a list of image files with labels. Most layouts on disk (class folders, CSV,
// ImageNet, iNaturalist) differ only in how the list is made.
#pragma once

#include "data/dataset.h"

namespace cait {

struct FileList {
    std::filesystem::path root;
    std::vector<std::string> files;    // relative to root, or absolute
    std::vector<std::int64_t> labels;  // one per file, into classes; empty: unlabelled
    ClassList classes;
    // All right answers per file where there may be several (ImageNet-ReaL); otherwise empty.
    std::vector<std::vector<std::int64_t>> answers;
    // Labels at several levels, coarsest first, one per group of files; group_of says each file's
    // group. Without group_of every file is a group of its own.
    std::vector<LabelLevel> levels;
    std::vector<std::int64_t> group_of;
};

// Throws Error when the list is empty. Files are opened when they are read, not before.
DatasetPtr make_file_dataset(std::string source, FileList list);

}  // namespace cait
