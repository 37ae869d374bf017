#include "engine/node_formats.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cait/error.h"

namespace cait::engine {

namespace {

using kernels::Format;

bool matches(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// What a node may do in int8: nothing, its products, or products that keep the format beside it.
enum class Products { none, wide, any };

// Rows of one image. Heads, class tokens and distillation tokens have one or two, which keep their
// precision.
std::int64_t rows_of_image(const Shape& x) {
    return x.count() / std::max<std::int64_t>(1, x[-1]);  // a batch counts as 1
}
constexpr std::int64_t kLeastLinearRows = 16, kLeastBranchRows = 3;

// Maps of many channels; what comes from an image itself keeps its precision.
bool has_many_channels(const Shape& x) {
    constexpr std::int64_t kLeastChannels = 32;
    return x[1] >= kLeastChannels;
}

Products products_of(const Graph& graph, const Node& node) {
    const auto shape = [&](std::size_t i) -> const Shape& {
        return graph.node(node.inputs[i]).shape;
    };
    const auto convolution = [&](std::int64_t groups, bool residual) {
        const bool depthwise = groups > 1 && shape(1)[1] == 1 && shape(1)[0] == groups;
        if (depthwise && !residual) return Products::none;
        return groups == 1 && has_many_channels(shape(0)) ? Products::any : Products::wide;
    };
    return std::visit(
        [&]<class T>(const T& op) {
            if constexpr (std::is_same_v<T, op::MlpBranch> ||
                          std::is_same_v<T, op::AttentionBranch>)
                return rows_of_image(shape(0)) >= kLeastBranchRows ? Products::any : Products::wide;
            else if constexpr (std::is_same_v<T, op::Linear>)
                return rows_of_image(shape(0)) >= kLeastLinearRows ? Products::any : Products::wide;
            else if constexpr (std::is_same_v<T, op::ConvUnit>)
                return convolution(op.groups, op.residual);
            else if constexpr (std::is_same_v<T, op::Conv2d>)
                return convolution(op.groups, false);
            else if constexpr (std::is_same_v<T, op::PatchEmbed>)
                return convolution(1, false);
            else if constexpr (std::is_same_v<T, op::MatMul> || std::is_same_v<T, op::PatchMix> ||
                               std::is_same_v<T, op::Attention> ||
                               std::is_same_v<T, op::AttentionMap> ||
                               std::is_same_v<T, op::AttentionApply> ||
                               std::is_same_v<T, op::MaskedAttention> ||
                               std::is_same_v<T, op::ClassAttention> ||
                               std::is_same_v<T, op::ConvTranspose2d> ||
                               std::is_same_v<T, op::SqueezeExcite>)
                return Products::wide;
            else
                return Products::none;
        },
        node.op);
}

// By node: the parameters behind it, where nothing else is.
std::vector<std::set<std::string>> params_behind(const Graph& graph) {
    std::vector<std::set<std::string>> params(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        if (const auto* param = std::get_if<op::Param>(&node.op))
            params[node.id] = {graph.params[param->index].name};
        else if (!node.shape.has_batch())
            for (const std::size_t input : node.inputs)
                params[node.id].insert(params[input].begin(), params[input].end());
    }
    return params;
}

bool reads(const Node& node, const std::vector<std::set<std::string>>& params,
           const std::vector<std::string>& patterns) {
    return std::ranges::any_of(node.inputs, [&](std::size_t input) {
        return std::ranges::any_of(params[input], [&](const std::string& name) {
            return std::ranges::any_of(patterns, [&](const auto& p) { return matches(p, name); });
        });
    });
}

void check_patterns(const Graph& graph, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns)
        if (std::ranges::none_of(
                graph.params, [&](const ParamSpec& spec) { return matches(pattern, spec.name); }))
            throw UsageError(fmt::format(
                "quantize.keep: expected patterns of parameter names, such as {}; found '{}', "
                "which "
                "matches none",
                graph.params.empty() ? "blocks.0.*" : graph.params.back().name, pattern));
}

// Where a node that can be int8 has its matrices.
std::vector<std::size_t> weight_inputs(const Node& node) {
    const auto of_branch = [&](const op::BranchOptions& branch) {
        const auto in = branch_inputs(branch, std::span<const std::size_t>(node.inputs));
        return std::vector{in.weight1, in.weight2};
    };
    if (const auto* mlp = std::get_if<op::MlpBranch>(&node.op)) return of_branch(*mlp);
    if (const auto* attention = std::get_if<op::AttentionBranch>(&node.op))
        return of_branch(*attention);
    return {node.inputs.at(1)};
}

}  // namespace

std::map<std::string, Format> node_formats(const Graph& graph, const FormatRules& rules) {
    check_patterns(graph, rules.keep);
    const std::vector<std::set<std::string>> params = params_behind(graph);
    const Format beside = kernels::companion(rules.wanted);
    std::map<std::string, Format> formats;
    for (const Node& node : graph.nodes) {
        const Products products =
            params[node.id].empty() ? products_of(graph, node) : Products::none;
        if (products == Products::none) continue;
        const bool whole = products == Products::any && !reads(node, params, rules.keep);
        formats[node.name] = whole ? rules.wanted : beside;
    }
    return formats;
}

std::vector<std::string> quantized_params(const Graph& graph, const FormatRules& rules) {
    const std::map<std::string, Format> formats = node_formats(graph, rules);
    const std::vector<std::set<std::string>> params = params_behind(graph);
    std::map<std::string, const ParamSpec*> specs;
    for (const ParamSpec& spec : graph.params) specs[spec.name] = &spec;
    std::set<std::string> names;
    for (const Node& node : graph.nodes) {
        const auto format = formats.find(node.name);
        if (format == formats.end() || format->second != Format::s8) continue;
        for (const std::size_t weight : weight_inputs(node)) {
            const std::int64_t count = graph.node(weight).shape.count();
            for (const std::string& name : params[weight])
                // Gains and norms behind a weight are vectors, queries, keys and values its thirds.
                if (const Shape& shape = specs.at(name)->shape;
                    shape.rank() >= 2 && 3 * shape.count() >= count)
                    names.insert(name);
        }
    }
    return {names.begin(), names.end()};
}

std::map<std::string, std::vector<std::string>> node_params(const Graph& graph) {
    const std::vector<std::set<std::string>> params = params_behind(graph);
    std::map<std::string, std::vector<std::string>> names;
    for (const Node& node : graph.nodes) {
        std::set<std::string> all;
        for (const std::size_t input : node.inputs)
            all.insert(params[input].begin(), params[input].end());
        names[node.name] = {all.begin(), all.end()};
    }
    return names;
}

std::vector<std::string> patterns_of(const std::string& list) {
    std::vector<std::string> patterns;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        patterns.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    if (std::ranges::any_of(patterns, [](const auto& p) { return p.empty(); }))
        throw UsageError(fmt::format(
            "quantize.keep: expected patterns with commas between them, found '{}'", list));
    return patterns;
}

}  // namespace cait::engine
