// Images of every class that training does not see, where a data set has no part for validation.
// Which ones is written down, so that a run that goes on never trains on them.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "system/file_place.h"

namespace cait {

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
