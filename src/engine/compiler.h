// Turns the nodes of a graph into steps, one after the other. Each kind of op has its file under
// steps/, which asks the compiler for its inputs and for memory and emits what is to be run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/arena.h"
#include "engine/frame.h"
#include "engine/node_formats.h"
#include "engine/weight_store.h"
#include "graph/graph.h"
#include "graph/initialize.h"
#include "graph/passes.h"

namespace cait::engine {

struct Step {
    std::string name;  // of the node that it computes
    std::string_view op;
    std::function<void(const Frame&)> run;
};

// The graph that a plan computes, and its weights: what can be moved into weights is moved there,
// branches are fused.
struct Computation {
    Graph graph;
    WeightMap weights;
    std::map<std::string, kernels::Format> formats;  // of its nodes' products
};

// One parameter of the graph.
struct Weight {
    std::string name;
    Tensor values;  // float32
};

class Compiler {
public:
    Compiler(const Computation& computation, kernels::Format format, WeightStore& store,
             int threads);

    void compile();

    // ---- For steps/
    const Node& node() const { return *node_; }
    std::size_t inputs() const { return node_->inputs.size(); }
    View input(std::size_t i);
    const Shape& input_shape(std::size_t i) const { return input_node(*node_, i).shape; }
    const Node& input_node(const Node& of, std::size_t i) const {
        return graph_.node(of.inputs[i]);
    }
    // An input without gaps, row by row: copied if it does not lie so.
    View dense_input(std::size_t i) { return dense(input(i)); }
    View dense(const View& view);
    // Any view in the order of `steps_like`: [C, H, W] with the channels last, say.
    View in_order(const View& view, const std::vector<Index>& steps);

    // An input that is a parameter.
    Weight weight(std::size_t i) const;
    bool is_weight(std::size_t i) const;
    const float* weight_floats(std::size_t i) const;
    // weight [O, …] for y = x · weight^T, in format() or another one
    kernels::PackedView packed_weight(std::size_t i) const { return packed_weight(i, format()); }
    kernels::PackedView packed_weight(std::size_t i, kernels::Format format) const;

    // Memory for one result, dense or in the order of another view.
    View make(const std::vector<Index>& extents);
    View make_like(const View& view);
    // The memory of an input that nobody reads any more, to write the result in place.
    bool may_overwrite(const View& view, std::size_t i) const;

    // Steps in the order of emission; `reads` and `writes` keep their buffers alive until then.
    void emit(std::vector<View> uses, std::function<void(const Frame&)> run);
    void result(View view);

    // Of products that may not be quantized, and of this node's.
    kernels::Format format() const { return kernels::companion(format_); }
    kernels::Format node_format() const;
    WeightStore& store() const { return store_; }
    int threads() const { return threads_; }

    // ---- The outcome
    std::vector<Step> take_steps() { return std::move(steps_); }
    const std::vector<Lifetime>& buffers() const { return buffers_; }
    const View& view_of(std::size_t node) const { return views_[node]; }
    void keep(const View& view);  // to the end, for an output

private:
    void touch(const View& view);
    std::size_t root_of(std::size_t node) const;

    const Graph& graph_;
    const WeightMap& weights_;
    const std::map<std::string, kernels::Format>& formats_;
    kernels::Format format_;
    WeightStore& store_;
    int threads_;
    Liveness live_;
    const Node* node_ = nullptr;
    std::vector<View> views_;  // by node
    std::vector<Lifetime> buffers_;
    std::vector<Step> steps_;
};

// The extents of one image, or of a value that all images share.
std::vector<Index> image_extents(const Shape& shape);
// An axis of a shape as an axis of one image.
std::size_t image_axis(const Shape& shape, std::int64_t axis);

}  // namespace cait::engine
