// Divides a data set in two so that every class keeps its share in both parts: where there is no
// part for validation, training does not see the other one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "system/file_place.h"

namespace cait {

struct SplitIndices {
    std::vector<std::size_t> kept;  // ascending
    std::vector<std::size_t> held_out;
};

// round(fraction * samples) are held out, divided among the classes by largest remainder, but at
// least one of every class that has two: a class that nobody looks at would be worth nothing in a
// validation. A class always keeps at least one sample, too. Which ones is a function of the seed
// and of the class alone, so adding a class does not move the others. Throws UsageError unless 0 <
// fraction < 1.
SplitIndices stratified_split(std::span<const std::int64_t> labels, double fraction,
                              std::uint64_t seed);

// The first `count` images of each class, in the order of the data set. Throws Error that names a
// class which has fewer.
DatasetPtr first_of_each_class(DatasetPtr dataset, std::int64_t count);

// Which images are held out is written down, so that a run that goes on never trains on them.
struct Holdout {
    DatasetPtr kept;
    DatasetPtr held_out;  // empty where the data set is too small
};

// As stratified_split divides it.
Holdout hold_out(const DatasetPtr& dataset, double fraction, std::uint64_t seed);

// A table of path and label. Images that are files of their own are named absolutely, so that it is
// a data set itself: csv:FILE.
void write_holdout(const Dataset& held_out, const FilePlace& file);

// The division that the file says. Throws Error when an image that it names is not in the data set.
Holdout read_holdout(const DatasetPtr& dataset, const FilePlace& file);

}  // namespace cait
