// What the tests of graph passes share: a pass must not change what a model says.
#pragma once

#include "graph/reference.h"
#include "support/small_models.h"

namespace cait::test {

// Nodes that hold an `Op`.
template <class Op>
std::size_t count(const Graph& graph) {
    return std::size_t(std::ranges::count_if(
        graph.nodes, [](const Node& node) { return std::holds_alternative<Op>(node.op); }));
}

// A small model as it was recorded, and what it answers.
struct PassCase {
    std::string preset;
    Graph graph;
    Tensor images;
    WeightMap weights;
    std::map<std::string, Tensor> expected;  // by tap
};

// Calls use(case) for every distinct preset of a family, with the logits alone and with all taps.
template <class Use>
void for_pass_cases(const std::string& family, const Use& use) {
    for (const SmallPreset& preset : distinct_small_presets(family)) {
        const ModelSpec spec = configure(preset.name, preset.settings);
        for (const auto& taps : {std::vector<std::string>{"logits"}, taps_of_every_kind(spec)}) {
            PassCase one{preset.name, record(spec, {.taps = taps}), random_images(spec, 2), {}, {}};
            one.weights = lively_weights(one.graph);
            one.expected = run_reference(one.graph, one.images, one.weights);
            use(one);
        }
    }
}

}  // namespace cait::test
