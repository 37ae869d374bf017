// iNaturalist (2017 to 2021): a COCO-style json names the images, and the label may be any of the
// seven taxonomic levels.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// inaturalist:PATH?json=train2018.json&level=kingdom|phylum|class|order|family|genus|species. The
// json lies in PATH, as does categories.json where the levels are kept apart (2018). Without ?json=
// it is the one file in PATH that begins with the name of the split.
DatasetPtr open_inaturalist(const DatasetUri& uri, Split split);

}  // namespace cait
