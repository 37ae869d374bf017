// Oxford Flowers-102 (Nilsback and Zisserman 2008): jpg/image_00001.jpg and on, with their labels
// and parts in two MATLAB files.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// flowers102:PATH?split=train|val|trainval|test. The parts are setid.mat's own: trnid (1,020
// images) is train, valid (1,020) is val, tstid (6,149) is test; trainval, the first two together,
// is what papers train on. Some publications swap trnid and tstid to train on more: we do not.
// The files have no names: classes are numbers from 0, label 1 of imagelabels.mat being class 0.
DatasetPtr open_flowers102(const DatasetUri& uri, Split split);

}  // namespace cait
