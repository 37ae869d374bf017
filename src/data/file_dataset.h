// A data set that is a list of image files with labels. Most layouts on disk (class folders, CSV,
// ImageNet, iNaturalist) differ only in how the list is made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/dataset_uri.h"

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
    // Where the set says what is where in an image: one list per file. See data/object_list.h.
    std::optional<std::vector<std::vector<Object>>> objects{};
    bool object_masks = false;
    // What the files of the set call its images and its classes; empty: they are counted.
    std::vector<std::int64_t> image_numbers{}, class_numbers{};
    std::vector<std::string> notes{};

    // `answers` of all files, sorted and each once; labels are the first of them, or kUnlabelled.
    void set_answers(std::vector<std::vector<std::int64_t>> all);
};

// Throws Error when the list is empty. Files are opened when they are read, not before.
DatasetPtr make_file_dataset(std::string source, FileList list);

// Where a published data set lies: PATH itself, or PATH/unpacked, the folder that its archive
// makes, whichever holds `file`. Throws Error that names what was expected where; where only
// file.xz or file.gz is there it says how to unpack it.
std::filesystem::path find_root(const DatasetUri& uri, const std::string& unpacked,
                                const std::string& file);

// Of data sets that are published in two parts, what is no training data is test data.
inline bool is_training(Split split) {
    return split == Split::any || split == Split::train || split == Split::trainval;
}

}  // namespace cait
