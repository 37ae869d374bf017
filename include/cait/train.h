// Running a model through LibTorch. Link cait::train; programs that only load, convert or inspect
// models need cait/model.h alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cait/model.h"

namespace cait {

enum class Precision { fp32, bf16 };  // bf16: products in bfloat16; norms and softmax in float32

struct ForwardOptions {
    // Named outputs: logits, logits_class, logits_dist, features, tokens, class_attention.N,
    // self_attention.N, residual_ratio.N. Empty means the logits.
    std::vector<std::string> taps;
    Precision precision = Precision::fp32;
    std::size_t batch = 16;  // images that go through the network together
    std::function<void(std::size_t done, std::size_t total)> progress;  // after each batch
};

// images [B, C, H, W] float32, already preprocessed → each tap's values, float32.
std::map<std::string, Tensor> forward(const Model& model, const Tensor& images,
                                      const ForwardOptions& options = {});

}  // namespace cait
