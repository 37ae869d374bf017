// CIFAR-10 and CIFAR-100 in their official binary layout: records of one or two label bytes and
// 3072 bytes of 32×32 pixels, red plane first. The files stay mapped; nothing is unpacked.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// cifar10:PATH?split=train|test; without a split it is the training part.
DatasetPtr open_cifar10(const DatasetUri& uri, Split split);

// cifar100:PATH?labels=fine|coarse&split=train|test; the 100 fine labels unless told otherwise. The
// others are there as a level (data/levels.h) where their names are.
DatasetPtr open_cifar100(const DatasetUri& uri, Split split);

}  // namespace cait
