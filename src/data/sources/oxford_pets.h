// Oxford-IIIT Pets (Parkhi et al. 2012): images/Breed_name_17.jpg, with the parts and the breeds'
// numbers as lists in annotations/.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// oxford-pets:PATH?split=train|trainval|test: annotations/trainval.txt (3,680 images; the authors
// leave it undivided, so train means the same) and annotations/test.txt (3,669). The 37 classes are
// the breeds, in the order of their numbers.
DatasetPtr open_oxford_pets(const DatasetUri& uri, Split split);

}  // namespace cait
