// Numbers of a model by layer: how much each residual branch contributes (figure 3.6 of Touvron's
// thesis), what LayerScale has learned, and how alike class and distillation token are.
#pragma once

#include <vector>

#include "analysis/branches.h"
#include "cait/model.h"
#include "models/executor.h"

namespace cait {

// Of prepared images [B, 3, H, W], of which `batch` go through the model together.
struct ShownImages {
    const Tensor& images;
    std::size_t batch = 8;
};

// |scaled branch| / |main branch|, over the images.
struct BranchRatio {
    Branch branch;
    double mean = 0, deviation = 0;
};
// Throws UsageError where the model has no residual branches that it tells of.
std::vector<BranchRatio> residual_ratios(const Model& model, const Executor& executor,
                                         const ShownImages& shown);

// What multiplies a branch: of the absolute values of its channels.
struct BranchScale {
    Branch branch;
    double mean = 0, least = 0, most = 0;
};
// Throws UsageError where nothing multiplies the branches.
std::vector<BranchScale> layer_scales(const Model& model);

// Cosine of class and distillation token (or of two class tokens) before their first block and
// after each one, mean over the images. Throws UsageError unless there are two.
std::vector<double> token_cosines(const Model& model, const Executor& executor,
                                  const ShownImages& shown);

}  // namespace cait
