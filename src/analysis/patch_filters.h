// What ResMLP's matrices across patches have learned: their rows as images of patches, and how many
// of their numbers are next to nothing (figures 4.2 and 4.3 of Touvron's thesis).
#pragma once

#include <string>
#include <vector>

#include "cait/model.h"
#include "image/image.h"

namespace cait {

struct PatchFilters {
    std::int64_t layer = 0;
    Image tiles;            // the rows of the central 6x6 patches, each an image of all patches
    std::string part = {};  // of a translator: "encoder" or "decoder"
};
// Each row in colours from blue for its most negative over white for 0 to red. Throws UsageError
// where patches are not mixed by a matrix.
std::vector<PatchFilters> patch_filters(const Model& model);

// The share of numbers whose absolute value is below 5 % of the matrix's largest.
struct LayerSparsity {
    std::int64_t layer = 0;
    double patches = 0;            // the matrix across patches
    double first = 0, second = 0;  // the two of the MLP
    std::string part = {};         // as above
};
std::vector<LayerSparsity> matrix_sparsity(const Model& model);  // throws as above

double sparsity(std::span<const float> values);

}  // namespace cait
