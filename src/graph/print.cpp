// The graph as text, for `cait inspect --graph` and for error messages.
#include <fmt/format.h>

#include "graph/graph.h"

namespace cait {

namespace {

std::string attributes(const Op& op) {
    return std::visit(
        [](const auto& o) -> std::string {
            if constexpr (requires { o.attributes(); }) return o.attributes();
            return "";
        },
        op);
}

std::string call_text(const Node& node) {
    std::string inside;
    for (const std::size_t input : node.inputs)
        inside += fmt::format("{}%{}", inside.empty() ? "" : ", ", input);
    if (const std::string extra = attributes(node.op); !extra.empty())
        inside += (inside.empty() ? "" : "; ") + extra;
    return fmt::format("{}({})", op_name(node.op), inside);
}

}  // namespace

std::string print(const Node& node) {
    return fmt::format("%{:<4} = {:<58} {:<20} {}", node.id, call_text(node),
                       node.shape.to_string(), node.name);
}

std::string print(const Graph& graph) {
    return print(graph, [](const Node&) { return std::string(); });
}

std::string print(const Graph& graph, const std::function<std::string(const Node&)>& remark) {
    std::string text;
    for (const Node& node : graph.nodes) {
        if (const auto* param = std::get_if<op::Param>(&node.op)) {
            const ParamSpec& spec = graph.params[param->index];
            text += fmt::format("%{:<4} = {:<58} {:<20} {}{}\n", node.id, "param",
                                spec.shape.to_string(), spec.name, spec.trainable ? "" : " frozen");
        } else {
            const std::string word = remark(node);
            text += print(node) + (word.empty() ? "" : "  " + word) + "\n";
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
