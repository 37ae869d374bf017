// Whether a network still tells images apart. Losses without labels have a trivial solution, the
// same answer to everything, and small batches fall into it without a word.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <string>

namespace cait {

// What is watched, by the names that records give it.
inline constexpr const char* kSpread = "spread";
inline constexpr const char* kTeacherEntropy = "teacher_entropy";

// The mean over dimensions of the standard deviation over rows of the unit vectors: 1/√D where they
// point everywhere, 0 where all are alike.
at::Tensor spread_of(const at::Tensor& vectors);

// Those of a step's figures that are watched.
std::map<std::string, double> watched_of(const std::map<std::string, double>& parts);

// Why these figures mean a collapse, in words; empty: they do not. `width` is that of the vectors
// whose spread it is, `outputs` that of the teacher's answers.
std::string collapse_in(const std::map<std::string, double>& watched, std::int64_t width,
                        std::int64_t outputs);

}  // namespace cait
