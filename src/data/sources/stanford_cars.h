// Stanford Cars (Krause et al. 2013): photographs of 196 models of car, with labels and names in
// the MATLAB files of its devkit.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"

namespace cait {

// stanford-cars:PATH?split=train|test. Either cars_train/ and cars_test/ with cars_train_annos.mat,
// cars_test_annos_withlabels.mat and cars_meta.mat (in PATH or PATH/devkit), or car_ims/ with
// cars_annos.mat, the file that has both parts. Classes are the devkit's names.
DatasetPtr open_stanford_cars(const DatasetUri& uri, Split split);

}  // namespace cait
