// ImageNet (ILSVRC 2012) and its two re-labelled relatives. Classes are WordNet ids in their sorted
// order, which is the order of every published checkpoint.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// imagenet:PATH?split=train|val. PATH/train has one folder per id; PATH/val has too, or it is flat
// and the devkit's ILSVRC2012_validation_ground_truth.txt and meta.mat (below PATH, or in
// ?devkit=FOLDER) say what is what.
DatasetPtr open_imagenet(const DatasetUri& uri, Split split);

// imagenet-real:PATH?labels=real.json. "Are we done with ImageNet?" (Beyer et al. 2020): the
// validation images with all their right answers. Images that have none are not part of the set.
DatasetPtr open_imagenet_real(const DatasetUri& uri, Split split);

// imagenet-v2:PATH. Recht et al. 2019: folders named by the class number, 0 to 999.
DatasetPtr open_imagenet_v2(const DatasetUri& uri, Split split);

}  // namespace cait
