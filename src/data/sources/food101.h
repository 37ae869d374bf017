// Food-101 (Bossard et al. 2014): images/CLASS/NUMBER.jpg, with the parts as lists in meta/.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// food101:PATH?split=train|test: meta/train.txt (75,750 images) and meta/test.txt (25,250), classes
// and their order from meta/classes.txt.
DatasetPtr open_food101(const DatasetUri& uri, Split split);

}  // namespace cait
