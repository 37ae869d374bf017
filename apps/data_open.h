// Opens the data set of a command and shows what there is to say about its labels.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait::app {

// open_dataset(); its notes go to stderr.
DatasetPtr open_data(const std::string& uri, Split part = Split::any);

// match_classes(); what it adds to the notes of `data` goes to stderr.
DatasetPtr match_data(const DatasetPtr& data, const std::vector<std::string>& names,
                      std::size_t count, const std::string& model);

}  // namespace cait::app
