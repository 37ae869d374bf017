#include "graph/weight_rewriter.h"

namespace cait {

Value as_column(Builder& b, Value vector, std::size_t rank, Location at) {
    if (vector.extent(0) == 1 || rank == 1) return vector;
    Shape column(std::vector<std::int64_t>(rank, 1));
    column[0] = vector.extent(0);
    return b.reshape(vector, column, at);
}

WeightRewriter::WeightRewriter(const Graph& source, Builder& builder)
    : builder_(builder), readers_(source.nodes.size(), 0) {
    for (const Node& node : source.nodes)
        for (const std::size_t input : node.inputs) ++readers_[input];
    constexpr int kOutside = 4;  // no pattern reads a node so often
    for (const auto& [name, id] : source.outputs) readers_[id] += kOutside;
}

void WeightRewriter::stands_for(Value value, const Node& node) {
    origin_.resize(value.id() + 1);
    origin_[value.id()] = node.id;
}

int WeightRewriter::readers_of(Value value) const {
    const bool has_origin = value.id() < origin_.size() && origin_[value.id()];
    return has_origin ? readers_[*origin_[value.id()]] : 1;
}

bool WeightRewriter::is_constant(Value value) const {
    if (value.shape().has_batch()) return false;
    for (const std::size_t input : value.node().inputs)
        if (!is_constant(builder_.value(input))) return false;
    return true;
}

std::optional<Value> WeightRewriter::absorb(Value value, std::int64_t axis, const ChannelMap& map) {
    const Node& node = value.node();
    if (readers_of(value) != 1) return std::nullopt;
    if (const auto* op = std::get_if<op::Permute>(&node.op))
        return through_view(node, op->order[std::size_t(axis)], map);
    if (std::holds_alternative<op::Reshape>(node.op)) {
        const Shape& from = builder_.value(node.inputs[0]).shape();
        const Shape& to = node.shape;
        if (map.is_uniform()) return through_view(node, 0, map);
        if (axis == 1 && from.rank() > 1 && from[0] == to[0] && from[1] == to[1])
            return through_view(node, 1, map);
        if (axis == std::int64_t(to.rank()) - 1 && from[-1] == to[-1])
            return through_view(node, std::int64_t(from.rank()) - 1, map);
        return std::nullopt;
    }
    const bool is_last = map.is_uniform() || axis == std::int64_t(node.shape.rank()) - 1;
    const bool is_second = map.is_uniform() || axis == 1;
    const auto* attention = std::get_if<op::AttentionMap>(&node.op);
    const bool fits = (std::holds_alternative<op::Linear>(node.op) && is_last) ||
                      (std::holds_alternative<op::Conv2d>(node.op) && is_second) ||
                      (std::holds_alternative<op::ConvTranspose2d>(node.op) && is_second) ||
                      (attention != nullptr && attention->mix_after && is_second);
    return fits ? with_mapped_rows(node, attention != nullptr, map) : std::nullopt;
}

std::optional<Value> WeightRewriter::through_view(const Node& view, std::int64_t axis,
                                                  const ChannelMap& map) {
    const auto inner = absorb(builder_.value(view.inputs[0]), axis, map);
    if (!inner) return std::nullopt;
    return builder_.record_as(view, view.op, {*inner});
}

// The rows of a weight [O, …], or [I, O, …] of a transposed convolution, and of a bias [O] make the
// channels. The heads' mix after the softmax, in which a map of attention ends, is such a pair,
// too.
std::optional<Value> WeightRewriter::with_mapped_rows(const Node& node, bool is_mix,
                                                      const ChannelMap& map) {
    std::vector<Value> in;
    for (const std::size_t input : node.inputs) in.push_back(builder_.value(input));
    const std::size_t first = is_mix ? in.size() - 2 : 1;
    for (std::size_t i = first; i < in.size(); ++i)
        if (!is_constant(in[i])) return std::nullopt;
    {
        const Builder::Scope scope = builder_.scope(node.name);
        const Location at = node.where;
        for (std::size_t i = first; i < in.size(); ++i) {
            const bool inputs_first =
                std::holds_alternative<op::ConvTranspose2d>(node.op) && i == first;
            const std::size_t rank = in[i].shape().rank() - (inputs_first ? 1 : 0);
            if (map.scale)
                in[i] = builder_.mul(in[i], as_column(builder_, map.scale, rank, at), at);
            if (map.factor != 1) in[i] = builder_.scale(in[i], map.factor, 0, at);
        }
        const bool has_bias = in.size() == first + 2;
        if (map.shift && has_bias) in.back() = builder_.add(in.back(), map.shift, at);
        if (map.shift && !has_bias) in.push_back(map.shift);
    }
    return builder_.record_as(node, node.op, in);
}

}  // namespace cait
