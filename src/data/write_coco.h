// Objects written as COCO's instances are, so that a part of any data set of objects is one itself.
#pragma once

#include <filesystem>
#include <span>

#include "data/dataset.h"

namespace cait {

// The images `indices` with all that is annotated in them. Returns the folder that their names
// start at: coco:FILE?images=FOLDER. Throws UsageError where images are not files of their own.
std::filesystem::path write_coco_dataset(const Dataset& dataset,
                                         std::span<const std::size_t> indices,
                                         const std::filesystem::path& file);

}  // namespace cait
