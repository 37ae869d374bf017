// csv:FILE — a table with a header row; one column holds the path of an image, another its label.
// ?path=COLUMN and ?label=COLUMN choose them when they are not called so, ?root=FOLDER is where
// relative paths start (the folder of the file otherwise). ?levels=COLUMN,COLUMN,… names columns
// with labels at several levels, coarsest first; the last of them is the label unless ?label= says
// so.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// Writes path,label rows that csv: reads back, atomically. Paths become relative to `file` when
// they lie below its folder. Throws UsageError when the images are not files of their own.
void write_csv_dataset(const Dataset& dataset, std::span<const std::size_t> indices,
                       const std::filesystem::path& file);

}  // namespace cait
