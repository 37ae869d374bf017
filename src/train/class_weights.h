// How much each class counts in the loss where the training data have more of some than of others.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "train/recipe/recipe.h"

namespace cait {

// One per class, such that the mean over the images is 1; a class without images gets the weight of
// one with a single image. Empty for ClassWeights::none.
std::vector<double> class_weights(ClassWeights kind, const Dataset& train);

}  // namespace cait
