// Inputs of make_beyond_labels.py: numbers() of that script, in float64 on float32 values.
#pragma once

#include "train/torch/libtorch.h"

#include <string>

#include "golden/pattern.h"

namespace cait::golden {

inline at::Tensor numbers(const std::string& name, at::IntArrayRef shape, double scale = 1) {
    at::Tensor values = at::empty(shape, at::kDouble);
    const std::uint64_t hash = hash_of(name);
    for (std::int64_t i = 0; i < values.numel(); ++i)
        values.data_ptr<double>()[i] = double(float(uniform(hash, i)) * float(scale));
    return values;
}

}  // namespace cait::golden
