// The graph as text, for `cait inspect --graph` and for error messages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/graph.h"

namespace cait {

namespace {

template <class Op>
std::string attributes(const Op&) {
    return "";
}
std::string attributes(const op::MatMul& op) { return op.transpose_b ? "transpose_b" : ""; }
std::string attributes(const op::Conv2d& op) {
    return fmt::format("stride={} padding={} groups={}", op.stride, op.padding, op.groups);
}
std::string attributes(const op::Scale& op) {
    return fmt::format("factor={:.6g} offset={:.6g}", op.factor, op.offset);
}
std::string attributes(const op::Activation& op) {
    constexpr const char* kNames[] = {"gelu", "relu", "silu", "sigmoid", "tanh", "sqrt", "rsqrt"};
    return kNames[int(op.kind)];
}
std::string attributes(const op::Softmax& op) { return fmt::format("axis={}", op.axis); }
std::string attributes(const op::Permute& op) {
    return fmt::format("order={}", fmt::join(op.order, ","));
}
std::string attributes(const op::Concat& op) { return fmt::format("axis={}", op.axis); }
std::string attributes(const op::Slice& op) {
    return fmt::format("axis={} {}…{}", op.axis, op.begin, op.end);
}
std::string attributes(const op::Reduce& op) {
    constexpr const char* kNames[] = {"mean", "sum", "max"};
    return fmt::format("{} axes={}{}", kNames[int(op.kind)], fmt::join(op.axes, ","),
                       op.keep ? " keep" : "");
}
std::string attributes(const op::DropPath& op) { return fmt::format("rate={:g}", op.rate); }
std::string attributes(const op::Dropout& op) { return fmt::format("rate={:g}", op.rate); }
std::string attributes(const op::MixTokens& op) { return fmt::format("cell={}", op.cell); }
std::string attributes(const op::BatchNorm& op) {
    return fmt::format("epsilon={:g} momentum={:g}", op.epsilon, op.momentum);
}
template <class Windowed>
std::string window_text(const Windowed& op) {
    return fmt::format("kernel={} stride={} padding={}", op.kernel, op.stride, op.padding);
}
std::string attributes(const op::Pool2d& op) {
    return fmt::format("{} {}{}", op.kind == op::Pool2d::Kind::max ? "max" : "average",
                       window_text(op), op.ceil ? " ceil" : "");
}
std::string attributes(const op::Unfold& op) { return window_text(op); }
std::string attributes(const op::Fold& op) {
    return fmt::format("{} to={}x{}", window_text(op), op.height, op.width);
}
std::string attributes(const op::Outlook& op) {
    return fmt::format("heads={} kernel={} stride={} scale={:.6g}", op.heads, op.kernel, op.stride,
                       op.scale);
}
std::string attributes(const op::LayerNorm& op) { return fmt::format("epsilon={:g}", op.epsilon); }
std::string attributes(const op::AttentionOptions& op) {
    return fmt::format("heads={} scale={:.6g}{}{}", op.heads, op.scale,
                       op.mix_before ? " mix_before" : "", op.mix_after ? " mix_after" : "");
}
// A template would win over the conversion to the base.
std::string attributes(const op::AttentionMap& op) {
    return attributes(static_cast<const op::AttentionOptions&>(op));
}
std::string attributes(const op::Attention& op) {
    return attributes(static_cast<const op::AttentionOptions&>(op));
}
std::string attributes(const op::ClassAttention& op) {
    return attributes(static_cast<const op::AttentionOptions&>(op));
}
std::string attributes(const op::Residual& op) {
    return op.drop_path > 0 ? fmt::format("drop_path={:g}", op.drop_path) : "";
}
std::string attributes(const op::PatchEmbed& op) { return fmt::format("size={}", op.size); }
std::string attributes(const op::ConvUnit& op) {
    std::string text = attributes(static_cast<const op::Conv2d&>(op));
    if (op.bias) text += " bias";
    if (op.activation) text += " " + attributes(op::Activation{*op.activation});
    if (op.residual) text += " residual";
    if (op.relu_last) text += " relu";
    return text;
}
std::string attributes(const op::BranchOptions& op) {
    std::string text = op.norm ? fmt::format("epsilon={:g}", op.epsilon) : std::string("no norm");
    if (op.bias1) text += " bias1";
    if (op.bias2) text += " bias2";
    if (op.gain) text += " gain";
    if (op.drop_path > 0) text += fmt::format(" drop_path={:g}", op.drop_path);
    return text;
}
std::string attributes(const op::MlpBranch& op) {
    return attributes(static_cast<const op::BranchOptions&>(op));
}
std::string attributes(const op::AttentionBranch& op) {
    return fmt::format("{} {}", attributes(op.attention),
                       attributes(static_cast<const op::BranchOptions&>(op)));
}

std::string call_text(const Node& node) {
    std::string inside;
    for (const std::size_t input : node.inputs)
        inside += fmt::format("{}%{}", inside.empty() ? "" : ", ", input);
    const std::string extra = std::visit([](const auto& op) { return attributes(op); }, node.op);
    if (!extra.empty()) inside += (inside.empty() ? "" : "; ") + extra;
    return fmt::format("{}({})", op_name(node.op), inside);
}

}  // namespace

std::string print(const Node& node) {
    return fmt::format("%{:<4} = {:<58} {:<20} {}", node.id, call_text(node),
                       node.shape.to_string(), node.name);
}

std::string print(const Graph& graph) {
    std::string text;
    for (const Node& node : graph.nodes) {
        if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const ParamSpec& spec = graph.params[param->index];
            text += fmt::format("%{:<4} = {:<58} {:<20} {}{}\n", node.id, "param",
                                spec.shape.to_string(), spec.name, spec.trainable ? "" : " frozen");
        } else {
            text += print(node) + "\n";
        }
    }
    for (const auto& [name, id] : graph.outputs) text += fmt::format("output {} = %{}\n", name, id);
    return text;
}

std::string location_text(const std::source_location& where) {
    std::string_view file = where.file_name();
    // From the project's root on, so that messages do not depend on where it was built.
    for (const std::string_view root : {"src/models/", "src/graph/", "tests/"})
        if (const std::size_t at = file.rfind(root); at != std::string_view::npos) {
            file = file.substr(at);
            break;
        }
    return fmt::format("{}:{}", file, where.line());
}

}  // namespace cait
