#include "models/model_cost.h"

#include <algorithm>

namespace cait {

namespace {

// `one` for an image's regions.
void add_regions(Cost& cost, const Cost& one, std::int64_t tested, std::int64_t trained) {
    cost.macs += tested * one.macs;
    cost.inference_bytes = std::max(cost.inference_bytes, tested * one.inference_bytes);
    cost.training_bytes += trained * one.training_bytes;
}

}  // namespace

std::set<std::string> params_read(const Graph& graph) {
    std::set<std::string> names;
    for (const Node& node : graph.nodes)
        if (const auto* param = std::get_if<op::Param>(&node.op))
            names.insert(graph.params[param->index].name);
    return names;
}

Cost model_cost(const ModelSpec& spec) {
    const Graph whole = record(spec);
    if (!spec.head.is_detector()) return estimate_cost(whole);
    const auto cost_of = [&](const std::vector<std::string>& taps) {
        return estimate_cost(record(spec, {.taps = taps}));
    };
    Cost cost = cost_of(proposal_taps());
    add_regions(cost, cost_of(box_taps()), kTestRegions, kTrainingRegions);
    if (spec.head.detection.masks)
        add_regions(cost, cost_of(mask_taps(spec.head.detection)), kTestMasks, kTrainingMasks);
    const std::set<std::string> read = params_read(whole);
    for (const ParamSpec& param : whole.params) {
        if (read.contains(param.name) || param.role.kind == ParamRole::Kind::statistic) continue;
        cost.params -= param.shape.count();
        if (param.trainable) cost.trainable -= param.shape.count();
    }
    return cost;
}

}  // namespace cait
