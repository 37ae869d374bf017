#include "train/objectives/target.h"

#include <set>

#include "models/catalogue.h"
#include "train/objectives/features.h"

namespace cait {

namespace {

constexpr std::string_view kTargetPrefix = "target.";

}  // namespace

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
    for (const Own& own : own_)
        state.emplace_back(std::string(kTargetPrefix) + own.name, own.value);
    return state;
}

void TargetNetwork::load_state(std::map<std::string, at::Tensor>& state) {
    std::map<std::string, at::Tensor> stored;
    TensorState own;
    for (const Own& one : own_) own.emplace_back(one.name, one.value);
    for (auto at = state.lower_bound(std::string(kTargetPrefix));
         at != state.end() && at->first.starts_with(kTargetPrefix); at = state.erase(at))
        stored.emplace(at->first.substr(kTargetPrefix.size()), at->second);
    restore(own, stored, "target network");
    ++version_;
}

TargetObjective::TargetObjective(const ObjectiveSetup& setup)
    : projection_(projection_tap(setup.recipe)),
      graph_(record(setup.model.spec(),
                    {.mode = Mode::train, .drop_path = 0.0, .taps = {projection_}})) {}

void TargetObjective::start(const Graph& /*network*/, std::span<const TrainParam> params) {
    target_ = std::make_unique<TargetNetwork>(std::move(graph_), params);
}

void TargetObjective::after_step(std::span<const TrainParam> params, double target_momentum) {
    target_->update(params, target_momentum);
}

void TargetObjective::load_state(std::map<std::string, at::Tensor>& state) {
    target_->load_state(state);
}

at::Tensor TargetObjective::target_projections(const ObjectiveBatch& batch,
                                               const EvaluateContext& context) {
    return target_->run(batch.views[0].pixels, context).at(projection_);
}

}  // namespace cait
