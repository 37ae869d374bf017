// What of a training step a checkpoint keeps, and putting it back.
#include <fmt/format.h>

#include "cait/error.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait {

namespace {

constexpr const char* kWeights = "weights.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kEma = "ema.";
constexpr const char* kObjective = "views.";  // as checkpoints have always had it

// The entries whose name starts with `prefix`, without it.
std::map<std::string, at::Tensor> entries(const std::map<std::string, Tensor>& tensors,
                                          std::string_view prefix) {
    std::map<std::string, at::Tensor> result;
    for (const auto& [name, tensor] : tensors)
        if (name.starts_with(prefix)) result.emplace(name.substr(prefix.size()), to_torch(tensor));
    return result;
}

}  // namespace

void TrainingStep::gather_state() { objective_state_ = objective_->state(); }

std::map<std::string, Tensor> TrainingStep::state() const {
    std::map<std::string, Tensor> state;
    for (const TrainParam& param : params_)
        state.emplace(kWeights + param.name, share_torch(param.value));
    for (const auto& [name, tensor] : optimizer_->state())
        state.emplace(kOptimizer + name, share_torch(tensor));
    if (ema_)
        for (const auto& [name, tensor] : ema_->state())
            state.emplace(kEma + name, share_torch(tensor));
    for (const auto& [name, tensor] : objective_state_)
        state.emplace(kObjective + name, share_torch(tensor));
    return state;
}

void TrainingStep::load_state(const std::map<std::string, Tensor>& tensors,
                              const std::string& path) {
    const at::NoGradGuard no_grad;
    ++weights_version_;
    std::map<std::string, at::Tensor> weights = entries(tensors, kWeights);
    for (const TrainParam& param : params_) {
        const auto found = weights.find(param.name);
        if (found == weights.end())
            throw Error(fmt::format("{}: {}: the recipe's model has it, the checkpoint does not",
                                    path, param.name));
        if (found->second.sizes() != param.value.sizes())
            throw Error(fmt::format("{}: {}: the recipe's model has shape {}, the checkpoint {}",
                                    path, param.name, fmt::join(param.value.sizes(), "x"),
                                    fmt::join(found->second.sizes(), "x")));
        at::Tensor value = param.value;
        value.copy_(found->second);
        weights.erase(found);
    }
    if (!weights.empty())
        throw Error(fmt::format("{}: {}: the checkpoint has it, the recipe's model does not", path,
                                weights.begin()->first));
    try {
        optimizer_->load_state(entries(tensors, kOptimizer));
        if (ema_) ema_->load_state(entries(tensors, kEma));
        std::map<std::string, at::Tensor> remembered = entries(tensors, kObjective);
        objective_->load_state(remembered);
        if (!remembered.empty())
            throw Error(fmt::format("{}: the checkpoint has it, the recipe's loss.name does not",
                                    remembered.begin()->first));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", path, error.what()));
    }
}

TorchTensors TrainingStep::weights() const { return by_name_; }

TorchTensors TrainingStep::ema_weights() const {
    return ema_ ? ema_->tensors() : objective_->average(params_);
}

void TrainingStep::average_statistics() {
    average_buffers(group_, statistics_);
    average_buffers(group_, objective_->statistics());
}

}  // namespace cait
