// The hands of lower(): moves a map of channels into the weights of the linear map or convolution
// that makes them.
#pragma once

#include "graph/builder.h"

namespace cait {

// y = factor * scale * x + shift along one axis of x. The vectors are constants, [C] of that axis;
// a scale may be [1].
struct ChannelMap {
    Value scale = {};
    double factor = 1;
    Value shift = {};

    bool is_uniform() const { return !scale && !shift; }
};

// A vector [C] as [C, 1, …] of that rank; [1] stays.
Value as_column(Builder& b, Value vector, std::size_t rank, Location at);

// Works on a graph that is being rewritten: values are those of the builder.
class WeightRewriter {
public:
    WeightRewriter(const Graph& source, Builder& builder);

    // Says which node of the source a value of the new graph stands for.
    void stands_for(Value value, const Node& node);

    // What stands for a node of the source is read as often as that one, and more than by any
    // pattern if it is an output; what a rewrite put before it has one reader.
    int readers_of(Value value) const;

    // No batch in it and no image behind it.
    bool is_constant(Value value) const;

    // The value with the map applied to it by the node that makes it, if that can be and nobody
    // else reads it. Views are looked through as long as they keep the axis.
    std::optional<Value> absorb(Value value, std::int64_t axis, const ChannelMap& map);

private:
    std::optional<Value> through_view(const Node& view, std::int64_t axis, const ChannelMap& map);
    std::optional<Value> with_mapped_rows(const Node& node, bool is_mix, const ChannelMap& map);

    Builder& builder_;
    std::vector<int> readers_;                        // by node of the source
    std::vector<std::optional<std::size_t>> origin_;  // by new node
};

}  // namespace cait
