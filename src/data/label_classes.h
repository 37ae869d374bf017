// What the numbers in anybody's label images mean, as the options of a data set's name say:
// ?classes=FILE, ?ignore=11,12 and ?reduce_zero=true.
#pragma once

#include <filesystem>
#include <vector>

#include "data/dataset_uri.h"
#include "data/label_files.h"

namespace cait {

// Sets classes, colours and how files are read. The classes are those of the file that the option
// names, else of classes.txt in the first of `places` that has one, else as many as the highest
// number in the label images asks for, which are then all read.
void choose_classes(const DatasetUri& uri, const std::vector<std::filesystem::path>& places,
                    LabelFiles& files);

}  // namespace cait
