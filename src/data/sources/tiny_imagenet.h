// Tiny ImageNet (Stanford CS231N): 200 classes of 64×64 images; folders for training, one flat
// folder with a list for validation. The test part's labels were never published.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// tiny-imagenet:PATH?split=train|val&labels=ids|words. Classes are the WordNet ids of wnids.txt in
// their sorted order, which is that of published weights, or with labels=words what words.txt calls
// them, in the same order.
DatasetPtr open_tiny_imagenet(const DatasetUri& uri, Split split);

}  // namespace cait
