// What runs a model, be it our engine or LibTorch. Everything that only looks at a model
// works through this.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cait/tensor.h"

namespace cait {

class Executor {
public:
    virtual ~Executor() = default;

    // What the model takes, `images` [B, C, H, W] float32, say → each tap's values, float32; no
    // taps mean the logits.
    virtual std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                              const std::vector<std::string>& taps) const = 0;
};

// The same for more images, or rows of all inputs, than are to go through together; progress after
// each batch.
std::map<std::string, Tensor> run_in_batches(
    const Executor& executor, const NamedInputs<Tensor>& inputs,
    const std::vector<std::string>& taps, std::size_t batch,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace cait
