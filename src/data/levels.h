// The same images at several levels of detail: a rose is a plant, too. Which level a data set's
// labels are of is chosen here, by name; training and testing may choose different ones.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace cait {

// The level at which everything is of one class; every data set has it. "one" means the same.
inline constexpr std::string_view kOneClass = "∅";

// The data set with the labels of another level. Throws UsageError for a level that it has not.
DatasetPtr at_level(DatasetPtr dataset, const std::string& level);

// The same images with other labels, one each.
DatasetPtr relabelled(DatasetPtr dataset, ClassList classes, std::vector<std::int64_t> labels);

// The label of each image.
std::vector<std::int64_t> labels_of(const Dataset& dataset);

// All that there is, coarsest first: the levels of the data set, or, where it has none, its labels
// as a level called "label". Without "∅".
std::vector<LabelLevel> all_levels(const Dataset& dataset);

// Levels for a data set that has none of its own, from a table with a header row: its first column
// has the classes, each further one what they belong to at the level that the header names. The
// labels stay those of the first column. "imagenet" is the table of ImageNet's 127 coarse classes.
// Throws Error where a class of the data set is missing.
inline constexpr std::string_view kImageNetTable = "imagenet";
DatasetPtr with_parents(DatasetPtr dataset, const std::filesystem::path& table);

}  // namespace cait
