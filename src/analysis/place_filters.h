// What a ResMLP translator's matrices across the places of a sentence have learned: each as a
// picture, row by row, and how many of their numbers are next to nothing.
#pragma once

#include "analysis/patch_filters.h"

namespace cait {

// Of the encoder's layers, then of the decoder's, whose upper triangle is never read and is grey.
// Throws UsageError where places are not mixed by a matrix.
std::vector<PatchFilters> place_filters(const Model& model);
std::vector<LayerSparsity> place_sparsity(const Model& model);  // throws as above

}  // namespace cait
