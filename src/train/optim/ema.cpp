#include "train/optim/ema.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "train/optim/chunks.h"

namespace cait {

namespace {

void average_loop(float* __restrict__ average, const float* __restrict__ value, std::int64_t count,
                  float share) {
    for (std::int64_t i = 0; i < count; ++i) average[i] += share * (value[i] - average[i]);
}

}  // namespace

Ema::Ema(double decay, bool warmup, std::span<const TrainParam> params)
    : decay_(decay), warmup_(warmup), updates_(at::zeros({}, at::kLong)) {
    if (!(decay >= 0 && decay < 1))
        throw UsageError(
            fmt::format("train.ema: expected a number from 0 to below 1, found {}", decay));
    for (const TrainParam& param : params) {
        const bool moves = param.trained || param.statistic;
        const at::Tensor value = param.value.detach();
        averages_.push_back({param.name, moves ? value.clone() : value, moves});
    }
}

double Ema::next_decay() const {
    const auto t = double(updates_.item<std::int64_t>());
    return warmup_ ? std::min(decay_, (1 + t) / (10 + t)) : decay_;
}

void Ema::update(std::span<const TrainParam> params) {
    if (params.size() != averages_.size())
        throw Error(fmt::format("weight average: expected {} parameters, found {}",
                                averages_.size(), params.size()));
    const at::NoGradGuard no_gradients;
    const double share = 1 - next_decay();
    updates_.add_(1);
    std::vector<at::Tensor> values(params.size());
    std::vector<std::int64_t> counts(params.size(), 0);
    for (std::size_t i = 0; i < params.size(); ++i) {
        if (!averages_[i].moves) continue;
        values[i] = params[i].value.detach();
        if (is_plain_memory(values[i]) && is_plain_memory(averages_[i].value))
            counts[i] = values[i].numel();
        else
            averages_[i].value.lerp_(values[i], share);
    }
    for_each_chunk(split(counts), [&](const Chunk& chunk, std::size_t) {
        average_loop(averages_[chunk.tensor].value.data_ptr<float>() + chunk.begin,
                     values[chunk.tensor].data_ptr<float>() + chunk.begin, chunk.end - chunk.begin,
                     float(share));
    });
}

TorchTensors Ema::tensors() const {
    TorchTensors tensors;
    for (const Average& average : averages_) tensors.emplace(average.name, average.value);
    return tensors;
}

TensorState Ema::state() const {
    TensorState state{{"updates", updates_}};
    for (const Average& average : averages_)
        if (average.moves) state.emplace_back("average." + average.name, average.value);
    return state;
}

void Ema::load_state(const std::map<std::string, at::Tensor>& state) {
    restore(this->state(), state, "weight average");
}

}  // namespace cait
