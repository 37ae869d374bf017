#include "train/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "cait/error.h"
#include "torch/convert.h"

namespace cait {

namespace {

bool is_embedding(const std::string& name) {
    return name == "pos_embed" || name == "cls_token" || name == "dist_token";
}

// "blocks.3" for "blocks.3.attn.qkv.weight", in the words of every family; empty outside blocks.
std::string block_of(const std::string& name) {
    static const std::regex kBlock(
        R"(^(blocks\.\d+|blocks_token_only\.\d+|network\.\d+\.\d+|post_network\.\d+|)"
        R"(layer\d+\.\d+|s\d+\.b\d+|lca)\..*)");
    std::smatch match;
    return std::regex_match(name, match, kBlock) ? match[1].str() : std::string();
}

// The reference code leaves vectors out by their rank, which covers norms and LayerScale, and two
// parameters by name. timm 1.0 names the distillation token as a third.
bool decays(const ParamSpec& spec, DecayRule rule) {
    if (spec.shape.rank() <= 1 || spec.name.ends_with(".bias")) return false;
    if (spec.name == "pos_embed" || spec.name == "cls_token") return false;
    return rule != DecayRule::timm || spec.name != "dist_token";
}

// With a head per class (PatchConvNet) the heads are plain parameters head.0, head.1, …
bool is_class_head(const ParamSpec& spec) {
    return spec.role.kind == ParamRole::Kind::class_head || spec.name.starts_with("head.");
}

bool is_trained(const ParamSpec& spec, Tune tune) {
    if (!spec.trainable || spec.role.kind == ParamRole::Kind::statistic) return false;
    switch (tune) {
        case Tune::all: return true;
        case Tune::head: return is_class_head(spec);
        // "Three things everyone should know about vision transformers" (arXiv 2203.09795): the
        // published code also moves the position embedding. The second of two parallel branches
        // is called attn1.
        case Tune::attention:
            return spec.name.find(".attn.") != std::string::npos ||
                   spec.name.find(".attn1.") != std::string::npos || spec.name == "pos_embed" ||
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

std::vector<std::int64_t> layers_of(const Graph& graph) {
    constexpr std::int64_t kUnknown = -1;
    std::map<std::string, std::int64_t> numbers;  // of blocks, from 1
    std::vector<std::int64_t> layers(graph.params.size(), kUnknown);
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string block = block_of(graph.params[i].name);
        if (!block.empty())
            layers[i] = numbers.emplace(block, std::int64_t(numbers.size()) + 1).first->second;
    }
    const auto blocks = std::int64_t(numbers.size());
    // What stands between two blocks belongs to the next one; what comes before the first, to the
    // embeddings. A model may record its tokens late, yet they are embeddings.
    std::int64_t next = blocks + 1;
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (is_embedding(graph.params[i].name)) {
            layers[i] = 0;
        } else if (layers[i] == kUnknown) {
            layers[i] = next == 1 ? 0 : next;
        } else {
            next = layers[i];
        }
    }
    return layers;
}

std::vector<TrainParam> make_parameters(const Graph& graph,
                                        const std::map<std::string, Tensor>& weights,
                                        const Recipe& recipe, at::Device device) {
    const std::vector<std::int64_t> layers = layers_of(graph);
    const std::int64_t last = layers.empty() ? 0 : *std::ranges::max_element(layers);
    std::vector<TrainParam> params;
    params.reserve(graph.params.size());
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
        const ParamSpec& spec = graph.params[i];
        TrainParam param{.name = spec.name,
                         .value = copy_of(spec, weights, device),
                         .trained = is_trained(spec, recipe.train.tune),
                         .statistic = spec.role.kind == ParamRole::Kind::statistic,
                         .decay = decays(spec, recipe.optim.decay_rule),
                         .lr_scale = std::pow(recipe.optim.layer_decay, double(last - layers[i]))};
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
