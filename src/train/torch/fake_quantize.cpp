#include "train/torch/fake_quantize.h"

#include <algorithm>
#include <vector>

#include "engine/node_formats.h"
#include "graph/passes.h"

namespace cait {

namespace {

at::Tensor rounded_rows(const at::Tensor& x) {
    constexpr double kMostNumber = 127, kLeast = 1e-35;
    const at::Tensor greatest = x.abs().amax({-1}, true);
    const at::Tensor inverse =
        at::where(greatest > kLeast, kMostNumber / greatest, at::zeros_like(greatest));
    return at::round(x * inverse) * (greatest / kMostNumber);
}

}  // namespace

at::Tensor fake_quantize(const at::Tensor& x, std::int64_t slice) {
    const at::Tensor values = x.detach().to(at::kFloat);
    at::Tensor rounded;
    if (slice <= 0 || slice >= x.size(-1)) {
        rounded = rounded_rows(values);
    } else {
        std::vector<at::Tensor> parts;
        for (const at::Tensor& part : values.split(slice, -1)) parts.push_back(rounded_rows(part));
        rounded = at::cat(parts, -1);
    }
    return x + (rounded - values).to(x.scalar_type());
}

at::Tensor fake_quantized_linear(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, std::int64_t slice) {
    return at::linear(fake_quantize(x, slice), fake_quantize(weight), bias);
}

// The engine's graph is fused further, so that what decides is the weight, not the node: keys and
// values of class tokens, for example, are linear maps here and a part of class attention there.
std::set<std::string> quantized_nodes(const Graph& recorded, const Graph& graph) {
    Graph for_engine = recorded;
    for_engine.mode = Mode::infer;
    const std::vector<std::string> list =
        engine::quantized_params(fuse(lower(for_engine)), {kernels::Format::s8, {}});
    const std::set<std::string> rounded(list.begin(), list.end());
    const std::map<std::string, std::vector<std::string>> params = engine::node_params(graph);
    std::set<std::string> names;
    for (const Node& node : graph.nodes)
        if (node.shape.has_batch() && (std::holds_alternative<op::Linear>(node.op) ||
                                       std::holds_alternative<op::MlpBranch>(node.op) ||
                                       std::holds_alternative<op::AttentionBranch>(node.op)))
            if (std::ranges::any_of(params.at(node.name),
                                    [&](const auto& name) { return rounded.contains(name); }))
                names.insert(node.name);
    return names;
}

}  // namespace cait
