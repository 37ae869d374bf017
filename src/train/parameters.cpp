#include "train/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cait/error.h"
#include "train/torch/convert.h"

namespace cait {

namespace {

// The reference code leaves vectors out by their rank, which covers biases, norms and LayerScale,
// and positions and class tokens by name. timm 1.0 also leaves out the distillation token; DINO
// nothing but the vectors; torchvision's reference for ResNets nothing at all; XCiT's segmentation
// what has "norm" in its name.
bool decays(const ParamSpec& spec, DecayRule rule) {
    if (rule == DecayRule::all) return true;
    if (rule == DecayRule::norms) return spec.name.find("norm") == std::string::npos;
    if (spec.shape.rank() <= 1) return false;
    if (rule == DecayRule::vectors) return true;
    switch (spec.role.kind) {
        case ParamRole::Kind::position:
        case ParamRole::Kind::class_token:
        case ParamRole::Kind::class_tokens: return false;
        case ParamRole::Kind::distill_token: return rule != DecayRule::timm;
        default: return true;
    }
}

// Of a model that gives every pixel a class, all that stands above its blocks.
bool is_above_blocks(const ParamSpec& spec, const Graph& graph) {
    const auto is_dense = [](const ParamSpec& one) {
        return one.role.kind == ParamRole::Kind::dense_head;
    };
    const auto head = std::ranges::find_if(graph.params, is_dense);
    return head != graph.params.end() && spec.layer == head->layer;
}

bool is_class_head(const ParamSpec& spec) {
    return spec.role.kind == ParamRole::Kind::class_head ||
           spec.role.kind == ParamRole::Kind::class_row;
}

// Gains and shifts of the trunk's batch norms, by name.
std::set<std::string> norms_of_trunk(const Graph& graph) {
    std::set<std::string> names;
    for (const Node& node : graph.nodes) {
        if (!std::holds_alternative<op::BatchNorm>(node.op)) continue;
        for (const std::size_t input : node.inputs) {
            const auto* param = std::get_if<op::Param>(&graph.nodes[input].op);
            if (param != nullptr && !is_above_blocks(graph.params[param->index], graph))
                names.insert(graph.params[param->index].name);
        }
    }
    return names;
}

bool is_trained(const ParamSpec& spec, const Graph& graph, const Recipe& recipe,
                const std::set<std::string>& frozen) {
    if (!spec.trainable || spec.role.kind == ParamRole::Kind::statistic) return false;
    if (frozen.contains(spec.name)) return false;
    if (!recipe.model.scales.empty() && spec.role.kind == ParamRole::Kind::residual_scale)
        return false;
    switch (recipe.train.tune) {
        case Tune::all: return true;
        case Tune::head: return is_class_head(spec) || is_above_blocks(spec, graph);
        // "Three things everyone should know about vision transformers" (arXiv 2203.09795): the
        // published code also moves the position embedding.
        case Tune::attention:
            return spec.attention || spec.role.kind == ParamRole::Kind::position ||
                   is_class_head(spec);
    }
    throw Error("train.tune: unknown value");
}

at::Tensor copy_of(const ParamSpec& spec, const std::map<std::string, Tensor>& weights,
                   at::Device device) {
    const auto found = weights.find(spec.name);
    if (found == weights.end())
        throw Error(
            fmt::format("no weights for '{}', expected {}", spec.name, spec.shape.to_string()));
    if (found->second.shape() != spec.shape)
        throw Error(fmt::format("weights '{}': expected {}, found {}", spec.name,
                                spec.shape.to_string(), found->second.shape().to_string()));
    return to_torch(found->second).to(device, at::kFloat, false, /*copy=*/true).contiguous();
}

}  // namespace

std::vector<TrainParam> make_parameters(const Graph& graph,
                                        const std::map<std::string, Tensor>& weights,
                                        const Recipe& recipe, at::Device device) {
    std::int64_t last = 0;
    for (const ParamSpec& spec : graph.params) last = std::max(last, spec.layer);
    std::set<std::string> frozen;
    if (recipe.train.frozen_norms) frozen = norms_of_trunk(graph);
    std::vector<TrainParam> params;
    params.reserve(graph.params.size());
    for (const ParamSpec& spec : graph.params) {
        TrainParam param{.name = spec.name,
                         .value = copy_of(spec, weights, device),
                         .trained = is_trained(spec, graph, recipe, frozen),
                         .statistic = spec.role.kind == ParamRole::Kind::statistic,
                         .prototypes = spec.role.kind == ParamRole::Kind::prototypes,
                         .decay = decays(spec, recipe.optim.decay_rule),
                         .lr_scale = std::pow(recipe.optim.layer_decay, double(last - spec.layer))};
        param.value.requires_grad_(param.trained);
        params.push_back(std::move(param));
    }
    if (std::ranges::none_of(params, &TrainParam::trained))
        throw UsageError(
            "train.tune: expected something to train, found nothing of that kind in the model; "
            "set train.tune = \"all\"");
    return params;
}

TorchTensors tensors_of(std::span<const TrainParam> params) {
    TorchTensors tensors;
    for (const TrainParam& param : params) tensors.emplace(param.name, param.value);
    return tensors;
}

}  // namespace cait
