// Caltech-UCSD Birds (CUB-200-2011, Wah et al. 2011): images/CLASS/FILE.jpg, with numbers, classes
// and parts in four lists.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// cub200:PATH?split=train|test: the 5,994 and 5,794 images that train_test_split.txt marks with 1
// and 0. Classes as classes.txt names and orders them ("001.Black_footed_Albatross").
DatasetPtr open_cub200(const DatasetUri& uri, Split split);

}  // namespace cait
