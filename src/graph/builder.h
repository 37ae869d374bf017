// The recorder that models write to. It names parameters by scope, infers shapes as it goes and
// remembers for every node which line of which model made it.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cait {

// A handle to a recorded node.
class Value {
public:
    Value() = default;
    explicit Value(const Node* node) : node_(node) {}
    const Shape& shape() const { return node_->shape; }
    DType dtype() const { return dtype_of(node_->op); }
    std::int64_t extent(std::int64_t axis) const { return node_->shape[axis]; }
    std::size_t id() const { return node_->id; }
    const Node& node() const { return *node_; }
    explicit operator bool() const { return node_ != nullptr; }

private:
    const Node* node_ = nullptr;
};

// Weight and bias of a linear map, a normalisation, …
struct Affine {
    Value weight;
    Value bias;  // may be empty
};

struct LinearOptions {
    bool bias = true;
    Init weight_init = Init::trunc_normal(0.02);
    Init bias_init = Init::zeros();
    ParamRole role = {};
};

struct ConvOptions {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t groups = 1;
    bool bias = true;
    std::optional<Init> weight_init = {};  // default: PyTorch's, uniform by fan-in
    std::optional<Init> bias_init = {};
};

struct AttentionInputs {
    Value q, k, v;
    Affine mix_before;  // talking heads before the softmax; empty: none
    Affine mix_after;
    double dropout = 0;  // of the weights that multiply the values, in training
};

class Builder {
public:
    explicit Builder(RecordOptions options);
    // For passes that rewrite a graph: the same parameters and mode, no nodes yet.
    static Builder rewriting(const Graph& source);

    bool training() const { return options_.mode == Mode::train; }
    const RecordOptions& options() const { return options_; }

    // Names recorded while the result lives get the prefix "name." or "name.index.".
    class Scope {
    public:
        enum class Part { plain, block, attention };
        Scope(Builder& builder, std::string_view name, Part part = Part::plain);
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope();

    private:
        Builder& builder_;
        // What held before: the length of the prefix, the block, the part.
        std::size_t prefix_;
        std::int64_t block_;
        bool attention_;
    };
    [[nodiscard]] Scope scope(std::string_view name) { return {*this, name}; }
    [[nodiscard]] Scope scope(std::string_view name, std::int64_t index) {
        return scope(numbered(name, index));
    }
    // A scope that is one block of the network: its parameters are a layer of their own.
    [[nodiscard]] Scope block_scope(std::string_view name) {
        return {*this, name, Scope::Part::block};
    }
    [[nodiscard]] Scope block_scope(std::string_view name, std::int64_t index) {
        return block_scope(numbered(name, index));
    }
    // A scope whose parameters exchange between tokens; without a name it adds no prefix.
    [[nodiscard]] Scope attention_scope(std::string_view name = {}) {
        return {*this, name, Scope::Part::attention};
    }

    // ---- Leaves
    Value input(std::string_view name, Shape shape, DType dtype = DType::f32,
                Location where = Location::current());
    // The input of a model for images.
    Value image(std::int64_t channels, ImageSize size, Location where = Location::current()) {
        return input("images", {Shape::kBatch, channels, size.height, size.width}, DType::f32,
                     where);
    }
    Value param(std::string_view name, Shape shape, Init init, ParamRole role = {},
                bool trainable = true, Location where = Location::current());
    // Says that this configuration does without a part, so that files which have it still load.
    void leave_out(std::string_view name);
    // How the patches, or the positions of the last feature map, lie in the image.
    void patch_grid(Grid grid) { graph_.patch_grid = grid; }

    // ---- Primitives
    Value add(Value a, Value b, Location where = Location::current()) {
        return record(op::Add{}, {a, b}, where);
    }
    Value mul(Value a, Value b, Location where = Location::current()) {
        return record(op::Mul{}, {a, b}, where);
    }
    Value scale(Value x, double factor, double offset = 0, Location where = Location::current()) {
        return record(op::Scale{factor, offset}, {x}, where);
    }
    Value activation(Value x, op::Activation::Kind kind, Location where = Location::current()) {
        return record(op::Activation{kind}, {x}, where);
    }
    Value gelu(Value x, Location where = Location::current()) {
        return activation(x, op::Activation::Kind::gelu, where);
    }
    Value softmax(Value x, std::int64_t axis = -1, Location where = Location::current()) {
        return record(op::Softmax{axis}, {x}, where);
    }
    Value matmul(Value a, Value b, bool transpose_b = false, Location where = Location::current()) {
        return record(op::MatMul{transpose_b}, {a, b}, where);
    }
    Value reshape(Value x, Shape shape, Location where = Location::current()) {
        return record(op::Reshape{std::move(shape)}, {x}, where);
    }
    Value permute(Value x, std::vector<std::int64_t> order, Location where = Location::current()) {
        return record(op::Permute{std::move(order)}, {x}, where);
    }
    Value concat(std::initializer_list<Value> parts, std::int64_t axis,
                 Location where = Location::current()) {
        return record(op::Concat{axis}, parts, where);
    }
    Value concat(std::span<const Value> parts, std::int64_t axis,
                 Location where = Location::current()) {
        return record(op::Concat{axis}, parts, where);
    }
    Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                Location where = Location::current()) {
        return record(op::Slice{axis, begin, end}, {x}, where);
    }
    Value expand(Value x, Location where = Location::current()) {
        return record(op::Expand{}, {x}, where);
    }
    Value reduce(Value x, op::Reduce::Kind kind, std::vector<std::int64_t> axes, bool keep = false,
                 Location where = Location::current()) {
        return record(op::Reduce{kind, std::move(axes), keep}, {x}, where);
    }
    // Those that are recorded for training only; x itself where there is nothing to drop or
    // to mix.
    Value drop_path(Value x, double rate, Location where = Location::current()) {
        return training() && rate > 0 ? record(op::DropPath{rate}, {x}, where) : x;
    }
    Value dropout(Value x, double rate, Location where = Location::current()) {
        return training() && rate > 0 ? record(op::Dropout{rate}, {x}, where) : x;
    }
    Value dropout2d(Value x, double rate, Location where = Location::current()) {
        return training() && rate > 0 ? record(op::Dropout2d{rate}, {x}, where) : x;
    }
    Value mix_tokens(Value x, std::int64_t cell, Location where = Location::current()) {
        return training() && options_.mix_tokens ? record(op::MixTokens{cell}, {x}, where) : x;
    }
    Value linear(Value x, const Affine& params, Location where = Location::current());
    Value conv2d(Value x, const Affine& params, op::Conv2d options,
                 Location where = Location::current());

    Value batch_norm(Value x, std::span<const Value> params, op::BatchNorm options = {},
                     Location where = Location::current());
    Value pool2d(Value x, op::Pool2d options, Location where = Location::current()) {
        return record(options, {x}, where);
    }
    Value unfold(Value x, op::Unfold options, Location where = Location::current()) {
        return record(options, {x}, where);
    }
    Value fold(Value x, op::Fold options, Location where = Location::current()) {
        return record(options, {x}, where);
    }

    Value resize(Value x, op::Resize options, Location where = Location::current()) {
        return record(options, {x}, where);
    }
    Value adaptive_pool2d(Value x, std::int64_t size, Location where = Location::current()) {
        return record(op::AdaptivePool2d{size}, {x}, where);
    }

    // Rows of a table [V, D]; ids are an input.
    Value embedding(Value ids, Value table, Location where = Location::current()) {
        return record(op::Embedding{}, {ids, table}, where);
    }
    Value triangular(Value x, double fill, std::int64_t diagonal = 0,
                     Location where = Location::current()) {
        return record(op::Triangular{fill, diagonal}, {x}, where);
    }
    // Of places that are an input ...
    Value sinusoids(Value places, std::int64_t dim, std::int64_t first,
                    Location where = Location::current()) {
        return record(op::Sinusoids{dim, first}, {places}, where);
    }
    // ... or of 0 … count-1, [count, dim].
    Value sinusoids(std::int64_t count, std::int64_t dim, std::int64_t first,
                    Location where = Location::current()) {
        return record(op::Sinusoids{dim, first, count}, {}, where);
    }

    // ---- Composites
    Value conv_transpose2d(Value x, const Affine& params, Location where = Location::current());
    Value squeeze_excite(Value x, const Affine& reduce, const Affine& expand,
                         Location where = Location::current()) {
        return record(op::SqueezeExcite{},
                      {x, reduce.weight, reduce.bias, expand.weight, expand.bias}, where);
    }
    Value outlook(Value values, Value scores, op::Outlook options,
                  Location where = Location::current()) {
        return record(options, {values, scores}, where);
    }
    Value layer_norm(Value x, const Affine& params, double epsilon,
                     Location where = Location::current()) {
        return record(op::LayerNorm{epsilon}, {x, params.weight, params.bias}, where);
    }
    // The weights alone, [B, H, Q, K], none of them dropped; v is not needed.
    Value attention_map(const AttentionInputs& inputs, std::int64_t heads, double scale,
                        Location where = Location::current());
    // A map that was computed (and perhaps changed) before, times the values.
    Value attention_apply(Value map, Value v, Location where = Location::current()) {
        return record(op::AttentionApply{}, {map, v}, where);
    }
    // Recorded as map + apply when `map_tap` (a name such as "self_attention.3") is wanted, and
    // where weights are dropped; the tap shows them before that.
    Value attention(const AttentionInputs& inputs, std::int64_t heads, double scale,
                    std::string_view map_tap = {}, Location where = Location::current());
    // mask [B, K] may be empty. Recorded as its map and the values where `map_tap` is wanted.
    Value masked_attention(Value q, Value k, Value v, Value mask, std::int64_t heads, double scale,
                           bool causal, std::string_view map_tap = {},
                           Location where = Location::current());
    Value residual(Value x, Value branch, Value scale, double drop_path,
                   Location where = Location::current());

    // ---- Operations together with their parameters, "name.weight" and "name.bias"
    Affine linear_params(std::string_view name, std::int64_t in, std::int64_t out,
                         const LinearOptions& options = {}, Location where = Location::current());
    Affine norm_params(std::string_view name, std::int64_t dim,
                       Location where = Location::current());
    Value linear(std::string_view name, Value x, std::int64_t out,
                 const LinearOptions& options = {}, Location where = Location::current());
    Value layer_norm(std::string_view name, Value x, double epsilon,
                     Location where = Location::current());
    Affine conv_params(std::string_view name, std::int64_t in, std::int64_t out,
                       const ConvOptions& options = {}, Location where = Location::current());
    Value conv2d(std::string_view name, Value x, std::int64_t out, const ConvOptions& options = {},
                 Location where = Location::current());
    // Every pixel becomes a patch of side × side.
    Value conv_transpose2d(std::string_view name, Value x, std::int64_t out, std::int64_t side,
                           Location where = Location::current());
    // Weight, bias and the buffers running_mean and running_var, which batch_norm() takes.
    std::vector<Value> batch_norm_params(std::string_view name, std::int64_t channels,
                                         const Init& weight_init = Init::ones(),
                                         Location where = Location::current());
    // Also the buffers name.running_mean and name.running_var.
    Value batch_norm(std::string_view name, Value x, const Init& weight_init = Init::ones(),
                     op::BatchNorm options = {}, Location where = Location::current());

    // ---- Named outputs
    // True when somebody asked for this tap. Also makes the name known for error messages.
    bool wants(std::string_view tap);
    // Computes and names an output, if it is wanted.
    void output(std::string_view tap, const std::function<Value()>& compute);
    void output(std::string_view tap, Value value);

    // All taps that have been offered so far, wanted or not.
    const std::set<std::string>& offered() const { return offered_; }

    // For callers that record more on top of an output: computes it, too, when nobody asked for it,
    // or all that are numbered below a name that ends with a dot ...
    void demand(std::string_view tap) { demanded_.emplace(tap); }
    // ... and gives it. It is an output from here on only where somebody did.
    Value demanded(std::string_view tap);
    // The same for "map.": map.0, map.1, … as far as there are.
    std::vector<Value> all_demanded(std::string_view prefix);

    // The pruned graph; throws UsageError when a wanted tap was never offered.
    Graph finish();

    // ---- For passes
    // Takes a node over from another graph under its own name, with other inputs.
    Value copy(const Node& node, std::span<const Value> inputs);
    // Records what stands for a node of another graph, under that node's name and location.
    Value record_as(const Node& node, Op op, std::span<const Value> inputs);
    Value record_as(const Node& node, Op op, std::initializer_list<Value> inputs) {
        return record_as(node, std::move(op), std::span(inputs.begin(), inputs.size()));
    }
    Value value(std::size_t id) const { return Value(&graph_.nodes[id]); }
    // Names a node like the scope that it was recorded in. Random numbers go by a node's name, so
    // the part of a composite that draws them must have the composite's.
    void name_like_scope(Value value);

    // Appends any op; the methods above and the decompositions end here.
    Value record(Op op, std::span<const Value> inputs, Location where);
    Value record(Op op, std::initializer_list<Value> inputs, Location where) {
        return record(std::move(op), std::span(inputs.begin(), inputs.size()), where);
    }

private:
    bool is_wanted(std::string_view tap) const;
    Value append(Op op, std::vector<std::size_t> inputs, Shape shape, Location where);
    static std::string numbered(std::string_view name, std::int64_t index) {
        return std::string(name) + "." + std::to_string(index);
    }
    std::string unique_node_name(std::string_view op);
    std::int64_t layer_of(const ParamRole& role) const;

    RecordOptions options_;
    Graph graph_;
    std::string prefix_;
    std::int64_t blocks_ = 0;  // recorded so far
    std::int64_t block_ = 0;   // the one that is being recorded, from 1; 0: none
    bool attention_ = false;
    std::set<std::string> param_names_;
    std::map<std::string, int> node_names_;
    std::set<std::string> offered_;
    std::set<std::string, std::less<>> demanded_;
};

}  // namespace cait
