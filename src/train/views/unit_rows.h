// Vectors of unit length, by which cosines are inner products.
#pragma once

#include "train/torch/libtorch.h"

namespace cait {

// Every row divided by its length; a row of zeros stays. As PyTorch's normalize().
inline at::Tensor unit_rows(const at::Tensor& x) {
    constexpr double kLeast = 1e-12;
    return x / x.norm(2, {-1}, true).clamp_min(kLeast);
}

}  // namespace cait
