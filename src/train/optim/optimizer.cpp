#include "train/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"

namespace cait {

namespace {

void check_share(const char* key, double value) {
    if (!(value >= 0 && value < 1))
        throw UsageError(
            fmt::format("optim.{}: expected a number from 0 to below 1, found {}", key, value));
}

void check_not_negative(const char* key, double value) {
    if (!(value >= 0) || !std::isfinite(value))
        throw UsageError(
            fmt::format("optim.{}: expected a finite number from 0, found {}", key, value));
}

}  // namespace

Optimizer::Optimizer(const OptimPart& options, std::span<const TrainParam> params,
                     std::vector<std::string> buffers)
    : options_(options), buffer_names_(std::move(buffers)), steps_(at::zeros({}, at::kLong)) {
    std::ranges::copy_if(params, std::back_inserter(params_), &TrainParam::trained);
    for (const TrainParam& param : params_) {
        std::vector<at::Tensor>& own = buffers_.emplace_back();
        for (std::size_t i = 0; i < buffer_names_.size(); ++i)
            own.push_back(at::zeros_like(param.value.detach()));
        missed_.push_back(param.prototypes ? at::zeros({}, at::kLong) : at::Tensor());
    }
}

void Optimizer::step(double lr) {
    const at::NoGradGuard no_gradients;
    steps_.add_(1);
    std::vector<ParamUpdate> plain;
    for (std::size_t i = 0; i < params_.size(); ++i) {
        const TrainParam& param = params_[i];
        at::Tensor& missed = missed_[i];
        if (!param.value.grad().defined()) {
            if (missed.defined()) missed.add_(1);
            continue;
        }
        // Detached tensors share their memory with the parameter.
        const ParamUpdate update{param.value.detach(),
                                 param.value.grad().detach().contiguous(),
                                 buffers_[i],
                                 lr * param.lr_scale,
                                 param.decay ? options_.weight_decay : 0,
                                 missed.defined() ? missed.item<std::int64_t>() : 0};
        if (is_plain_memory(update.value) && is_plain_memory(update.grad))
            plain.push_back(update);
        else
            update_tensor(update);
    }
    update_memory(UpdatePass(plain));
}

double Optimizer::bias(double beta, const ParamUpdate& param) const {
    return 1 - std::pow(beta, double(steps() - param.missed));
}

void Optimizer::zero_grad() {
    for (TrainParam& param : params_) param.value.mutable_grad() = at::Tensor();
}

TensorState Optimizer::state() const {
    TensorState state{{"step", steps_}};
    for (std::size_t i = 0; i < params_.size(); ++i)
        for (std::size_t b = 0; b < buffer_names_.size(); ++b)
            state.emplace_back(buffer_names_[b] + "." + params_[i].name, buffers_[i][b]);
    for (std::size_t i = 0; i < params_.size(); ++i)
        if (missed_[i].defined()) state.emplace_back("missed." + params_[i].name, missed_[i]);
    return state;
}

void Optimizer::load_state(const std::map<std::string, at::Tensor>& state) {
    restore(this->state(), state, "optimiser state");
}

std::unique_ptr<Optimizer> make_optimizer(const OptimPart& options,
                                          std::span<const TrainParam> params) {
    check_share("beta1", options.beta1);
    check_share("beta2", options.beta2);
    check_share("momentum", options.momentum);
    check_not_negative("weight_decay", options.weight_decay);
    check_not_negative("epsilon", options.epsilon);
    switch (options.name) {
        case OptimizerKind::adamw: return make_adamw(options, params);
        case OptimizerKind::lamb: return make_lamb(options, params);
        case OptimizerKind::sgd: return make_sgd(options, params);
        case OptimizerKind::adagrad: return make_adagrad(options, params);
    }
    throw UsageError("optim.name: unknown optimiser");
}

}  // namespace cait
