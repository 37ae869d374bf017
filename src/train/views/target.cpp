#include "train/views/target.h"

#include <set>

namespace cait {

TargetNetwork::TargetNetwork(Graph graph, std::span<const TrainParam> params)
    : executor_(std::move(graph)) {
    std::set<std::string> needed;
    for (const Node& node : executor_.graph().nodes)
        if (const auto* param = std::get_if<op::Param>(&node.op))
            needed.insert(executor_.graph().params[param->index].name);
    for (const TrainParam& param : params) {
        if (!needed.contains(param.name)) continue;
        own_.push_back({param.name, param.value.detach().clone(), param.statistic, {}});
        by_name_.emplace(param.name, own_.back().value);
    }
}

TorchTensors TargetNetwork::run(const at::Tensor& images, EvaluateContext context) {
    const at::NoGradGuard no_gradients;
    for (Own& own : own_)
        if (own.statistic && !own.before.defined()) own.before = own.value.clone();
    context.memory = memory_;
    context.weights_version = version_;
    return executor_.run(images, by_name_, context);
}

void TargetNetwork::update(std::span<const TrainParam> params, double momentum) {
    const at::NoGradGuard no_gradients;
    std::size_t next = 0;
    for (const TrainParam& param : params) {
        if (next == own_.size()) break;
        Own& own = own_[next];
        if (own.name != param.name) continue;
        ++next;
        if (!own.statistic) own.value.mul_(momentum).add_(param.value.detach(), 1 - momentum);
    }
    ++version_;
    for (Own& own : own_) own.before = at::Tensor();
}

void TargetNetwork::forget() {
    for (Own& own : own_) {
        if (own.before.defined()) own.value.copy_(own.before);
        own.before = at::Tensor();
    }
}

TorchTensors TargetNetwork::tensors(std::span<const TrainParam> params) const {
    TorchTensors all = tensors_of(params);
    for (const Own& own : own_) all[own.name] = own.value;
    return all;
}

std::vector<at::Tensor> TargetNetwork::statistics() const {
    std::vector<at::Tensor> result;
    for (const Own& own : own_)
        if (own.statistic) result.push_back(own.value);
    return result;
}

TensorState TargetNetwork::state() const {
    TensorState state;
    for (const Own& own : own_) state.emplace_back(own.name, own.value);
    return state;
}

void TargetNetwork::load_state(const std::map<std::string, at::Tensor>& state) {
    restore(this->state(), state, "target network");
    ++version_;
}

}  // namespace cait
