#include "graph/passes.h"

#include "cait/error.h"
#include "graph/weight_rewriter.h"

namespace cait {

namespace {

class Lowering {
public:
    explicit Lowering(const Graph& graph)
        : graph_(graph),
          builder_(Builder::rewriting(graph)),
          weights_(graph, builder_),
          replaced_(graph.nodes.size()) {}

    Graph run() {
        for (const Node& node : graph_.nodes) {
            inputs_.clear();
            for (const std::size_t input : node.inputs) inputs_.push_back(replaced_[input]);
            const auto lowered =
                std::visit([&](const auto& op) { return lower(node, op); }, node.op);
            replaced_[node.id] = lowered ? *lowered : builder_.copy(node, inputs_);
            weights_.stands_for(replaced_[node.id], node);
        }
        for (const auto& [name, id] : graph_.outputs) builder_.output(name, replaced_[id]);
        return builder_.finish();
    }

private:
    using Result = std::optional<Value>;

    template <class Other>
    Result lower(const Node&, const Other&) {
        return std::nullopt;
    }

    Result lower(const Node& node, const op::BatchNorm& op) {
        const Location at = node.where;
        const std::vector<Value>& in = inputs_;  // x, weight, bias, mean, variance
        ChannelMap map;
        {
            const Builder::Scope scope = builder_.scope(node.name);
            const Value inverse = builder_.activation(builder_.scale(in[4], 1, op.epsilon, at),
                                                      op::Activation::Kind::rsqrt, at);
            map.scale = builder_.mul(in[1], inverse, at);
            const Value moved = builder_.scale(builder_.mul(in[3], map.scale, at), -1, 0, at);
            map.shift = builder_.add(in[2], moved, at);
        }
        if (const Result absorbed = weights_.absorb(in[0], 1, map)) return absorbed;
        const Builder::Scope scope = builder_.scope(node.name);
        const std::size_t rank = in[0].shape().rank() - 1;
        const Value scaled = builder_.mul(in[0], as_column(builder_, map.scale, rank, at), at);
        return builder_.record_as(node, op::Add{},
                                  {scaled, as_column(builder_, map.shift, rank, at)});
    }

    Result lower(const Node&, const op::Mul&) {
        const auto [x, vector] = with_vector();
        return vector ? weights_.absorb(x, last_axis(x), {.scale = vector}) : std::nullopt;
    }

    Result lower(const Node&, const op::Add&) {
        const auto [x, vector] = with_vector();
        if (!vector || vector.extent(0) != x.extent(-1)) return std::nullopt;
        return weights_.absorb(x, last_axis(x), {.shift = vector});
    }

    Result lower(const Node&, const op::Scale& op) {
        if (op.offset != 0 || !inputs_[0].shape().has_batch()) return std::nullopt;
        return weights_.absorb(inputs_[0], last_axis(inputs_[0]), {.factor = op.factor});
    }

    Result lower(const Node& node, const op::Residual& op) {
        if (inputs_.size() < 3 || !weights_.is_constant(inputs_[2])) return std::nullopt;
        const Value x = inputs_[0];
        const Result branch =
            weights_.absorb(inputs_[1], last_axis(inputs_[1]), {.scale = inputs_[2]});
        return branch ? Result(builder_.record_as(node, op, {x, *branch})) : std::nullopt;
    }

    // layer_norm(f x) is layer_norm(x) with an epsilon of 1/f² its size.
    Result lower(const Node& node, const op::LayerNorm& op) {
        const Node& source = inputs_[0].node();
        const auto* scale = std::get_if<op::Scale>(&source.op);
        if (scale == nullptr || scale->offset != 0 || scale->factor <= 0) return std::nullopt;
        const op::LayerNorm other{op.epsilon / (scale->factor * scale->factor)};
        return builder_.record_as(node, other,
                                  {builder_.value(source.inputs[0]), inputs_[1], inputs_[2]});
    }

    // W (a x + c) + b = (W a) x + (W c + b), as for the affine maps before ResMLP's MLPs.
    Result lower(const Node& node, const op::Linear& op) {
        const std::vector<Value>& in = inputs_;
        Value x = in[0];
        const Value shift = peel<op::Add>(x);
        const Value scale = peel<op::Mul>(x);
        if (x.id() == in[0].id() || !weights_.is_constant(in[1])) return std::nullopt;
        Value weight = in[1], bias = in.size() > 2 ? in[2] : Value();
        {
            const Builder::Scope scope = builder_.scope(node.name);
            if (shift) bias = builder_.linear(shift, {weight, bias}, node.where);
            if (scale) weight = builder_.mul(weight, scale, node.where);
        }
        return bias ? builder_.record_as(node, op, {x, weight, bias})
                    : builder_.record_as(node, op, {x, weight});
    }

    Result lower(const Node& node, const op::Attention& op) { return attention(node, op, inputs_); }

    Result lower(const Node& node, const op::AttentionMap& op) {
        if (op.scale == 1) return std::nullopt;
        const Result queries = weights_.absorb(inputs_[0], 2, {.factor = op.scale});
        if (!queries) return std::nullopt;
        inputs_[0] = *queries;
        op::AttentionMap unscaled = op;
        unscaled.scale = 1;
        return builder_.record_as(node, unscaled, inputs_);
    }

    // Once nothing stands between a map and its values any more, the map need not be kept.
    Result lower(const Node& node, const op::AttentionApply&) {
        const Value map = inputs_[0], values = inputs_[1];
        const auto* op = std::get_if<op::AttentionMap>(&map.node().op);
        if (op == nullptr || weights_.readers_of(map) != 1) return std::nullopt;
        std::vector<Value> in;
        for (const std::size_t input : map.node().inputs) in.push_back(builder_.value(input));
        in.insert(in.begin() + 2, values);
        return attention(node, *op, std::move(in));
    }

    Value attention(const Node& node, op::AttentionOptions op, std::vector<Value> in) {
        if (op.scale != 1) {
            if (const Result queries = weights_.absorb(in[0], 2, {.factor = op.scale})) {
                in[0] = *queries;
                op.scale = 1;
            } else if (scale_query_rows(in, op.scale)) {
                op.scale = 1;
            }
        }
        return builder_.record_as(node, op::Attention{op}, in);
    }

    // Queries, keys and values that are the thirds of one linear map: its first rows are scaled.
    bool scale_query_rows(std::vector<Value>& in, double factor) {
        const std::int64_t dim = in[0].extent(2);
        const Node& first = in[0].node();
        if (!std::holds_alternative<op::Slice>(first.op)) return false;
        const Value qkv = builder_.value(first.inputs[0]);
        for (std::size_t i = 0; i < 3; ++i) {
            const auto* range = std::get_if<op::Slice>(&in[i].node().op);
            const std::int64_t begin = std::int64_t(i) * dim;
            if (range == nullptr || weights_.readers_of(in[i]) != 1 ||
                in[i].node().inputs[0] != qkv.id() || (range->axis != -1 && range->axis != 2) ||
                range->begin != begin || range->end != begin + dim)
                return false;
        }
        const Node& node = qkv.node();
        if (!std::holds_alternative<op::Linear>(node.op) || weights_.readers_of(qkv) != 3 ||
            qkv.extent(2) != 3 * dim)
            return false;
        std::vector<Value> linear;
        for (const std::size_t input : node.inputs) linear.push_back(builder_.value(input));
        for (std::size_t i = 1; i < linear.size(); ++i) {
            if (!weights_.is_constant(linear[i])) return false;
            const Builder::Scope scope = builder_.scope(node.name);
            const Value queries = builder_.slice(linear[i], 0, 0, dim, node.where);
            const Value others = builder_.slice(linear[i], 0, dim, 3 * dim, node.where);
            linear[i] = builder_.concat({builder_.scale(queries, factor, 0, node.where), others}, 0,
                                        node.where);
        }
        const Value scaled = builder_.record_as(node, op::Linear{}, linear);
        for (std::size_t i = 0; i < 3; ++i)
            in[i] = builder_.record_as(in[i].node(), in[i].node().op, {scaled});
        return true;
    }

    // One of two inputs as a constant [D] or [1] over the last axis of the other.
    std::pair<Value, Value> with_vector() const {
        for (const std::size_t i : {0U, 1U}) {
            const Value x = inputs_[1 - i], vector = inputs_[i];
            if (x.shape().has_batch() && vector.shape().rank() == 1 &&
                (vector.extent(0) == x.extent(-1) || vector.extent(0) == 1) &&
                weights_.is_constant(vector))
                return {x, vector};
        }
        return {};
    }

    // Takes an Add or a Mul with a constant [D] off x, if nobody else reads it.
    template <class Wanted>
    Value peel(Value& x) const {
        const Node& node = x.node();
        if (!std::holds_alternative<Wanted>(node.op) || weights_.readers_of(x) != 1) return {};
        for (const std::size_t i : {0U, 1U}) {
            const Value other = builder_.value(node.inputs[1 - i]);
            const Value vector = builder_.value(node.inputs[i]);
            if (vector.shape() != Shape{x.extent(-1)} || other.shape() != x.shape() ||
                !weights_.is_constant(vector))
                continue;
            x = other;
            return vector;
        }
        return {};
    }

    static std::int64_t last_axis(Value value) { return std::int64_t(value.shape().rank()) - 1; }

    const Graph& graph_;
    Builder builder_;
    WeightRewriter weights_;
    std::vector<Value> replaced_;  // by node of the source
    std::vector<Value> inputs_;    // of the node at hand, in the new graph
};

}  // namespace

Graph lower(const Graph& graph) {
    if (graph.mode != Mode::infer)
        throw Error("[lower] expected a graph recorded for inference, got one for training");
    return Lowering(graph).run();
}

}  // namespace cait
