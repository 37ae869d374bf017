// What happens to gradients between the backward pass and the step: they are checked, measured and,
// where the recipe says so, clipped.
#pragma once

#include <span>
#include <string>

#include "train/parameters.h"
#include "train/recipe/recipe.h"

namespace cait {

struct GradientCheck {
    double norm = 0;        // over all gradients together, before clipping
    std::string first_bad;  // the first parameter whose gradient is not finite; empty: all are

    bool finite() const { return first_bad.empty(); }
};

// optim.clip_at is the largest global norm (ClipKind::norm, PyTorch's rule), the largest norm of a
// parameter (ClipKind::param, DINO's) or the largest size of an element (ClipKind::value). When one
// gradient is not finite, all stay as they are.
GradientCheck clip_gradients(std::span<const TrainParam> params, const OptimPart& optim);

}  // namespace cait
