// An exponential moving average of the weights, which evaluates better than the weights themselves.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include "train/parameters.h"
#include "train/run/tensor_state.h"

namespace cait {

class Ema {
public:
    // Starts as a copy. With `warmup` the first updates weigh more: update t = 0, 1, … keeps
    // min(decay, (1 + t) / (10 + t)) of the average. Throws UsageError unless 0 <= decay < 1.
    Ema(double decay, bool warmup, std::span<const TrainParam> params);

    // After each step, with the parameters of the constructor: average += (1 - decay) * (value -
    // average). Batch-norm statistics are averaged too, as timm does; what is frozen stays.
    void update(std::span<const TrainParam> params);

    // Every parameter by name, as TorchExecutor takes them; those that never change are shared.
    TorchTensors tensors() const;

    // "updates" (int64) and average.NAME; shared, not copied.
    TensorState state() const;
    // Throws Error that names a tensor which is missing, left over or does not fit; nothing has
    // changed then.
    void load_state(const std::map<std::string, at::Tensor>& state);

private:
    struct Average {
        std::string name;
        at::Tensor value;
        bool moves = true;
    };

    double next_decay() const;

    double decay_;
    bool warmup_;
    std::vector<Average> averages_;  // in the order of the parameters
    at::Tensor updates_;             // int64: how many there were
};

}  // namespace cait
