#include "graph/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

Builder::Builder(RecordOptions options) : options_(std::move(options)) {
    graph_.mode = options_.mode;
}

Builder Builder::rewriting(const Graph& source) {
    RecordOptions options{.mode = source.mode};
    for (const auto& [name, id] : source.outputs) options.taps.push_back(name);
    Builder builder(std::move(options));
    builder.graph_.params = source.params;
    builder.graph_.left_out = source.left_out;
    builder.graph_.patch_grid = source.patch_grid;
    return builder;
}

Value Builder::copy(const Node& node, std::span<const Value> inputs) {
    std::vector<std::size_t> ids;
    for (const Value& input : inputs) ids.push_back(input.id());
    const Value value = append(node.op, std::move(ids), node.shape, node.where);
    graph_.nodes.back().name = node.name;
    return value;
}

Value Builder::record_as(const Node& node, Op op, std::span<const Value> inputs) {
    const Value value = record(std::move(op), inputs, node.where);
    graph_.nodes.back().name = node.name;
    return value;
}

void Builder::name_like_scope(Value value) {
    graph_.nodes[value.id()].name = prefix_.substr(0, prefix_.size() - 1);
}

Builder::Scope::Scope(Builder& builder, std::string_view name, Part part)
    : builder_(builder),
      prefix_(builder.prefix_.size()),
      block_(builder.block_),
      attention_(builder.attention_) {
    if (!name.empty()) builder.prefix_ += fmt::format("{}.", name);
    if (part == Part::block) builder.block_ = ++builder.blocks_;
    if (part == Part::attention) builder.attention_ = true;
}

Builder::Scope::~Scope() {
    builder_.prefix_.resize(prefix_);
    builder_.block_ = block_;
    builder_.attention_ = attention_;
}

// A model may record its tokens late, yet they are embeddings.
std::int64_t Builder::layer_of(const ParamRole& role) const {
    using Kind = ParamRole::Kind;
    const bool embeds = role.kind == Kind::position || role.kind == Kind::class_token ||
                        role.kind == Kind::class_tokens || role.kind == Kind::distill_token ||
                        role.kind == Kind::register_tokens;
    if (embeds || blocks_ == 0) return 0;
    return block_ > 0 ? block_ : blocks_ + 1;
}

std::string Builder::unique_node_name(std::string_view op) {
    std::string name = fmt::format("{}{}", prefix_, op);
    const int seen = node_names_[name]++;
    return seen == 0 ? name : fmt::format("{}.{}", name, seen);
}

Value Builder::append(Op op, std::vector<std::size_t> inputs, Shape shape, Location where) {
    Node node;
    node.id = graph_.nodes.size();
    node.name = unique_node_name(op_name(op));
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.shape = std::move(shape);
    node.where = where;
    graph_.nodes.push_back(std::move(node));
    return Value(&graph_.nodes.back());
}

Value Builder::record(Op op, std::span<const Value> inputs, Location where) {
    std::vector<std::size_t> ids;
    std::vector<Shape> shapes;
    for (const Value& input : inputs) {
        ids.push_back(input.id());
        shapes.push_back(input.shape());
    }
    try {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (const DType wanted = input_dtype(op, i); inputs[i].dtype() != wanted)
                throw Error(fmt::format("[{}] expected {}, got {} of %{}", op_name(op),
                                        name_of(wanted), name_of(inputs[i].dtype()),
                                        inputs[i].id()));
        Shape shape = infer_shape(op, shapes);
        return append(std::move(op), std::move(ids), std::move(shape), where);
    } catch (const Error& error) {
        throw Error(
            fmt::format("{} (in {}, {})", error.what(),
                        prefix_.empty() ? "the model" : prefix_.substr(0, prefix_.size() - 1),
                        location_text(where)),
            error.kind());
    }
}

Value Builder::input(std::string_view name, Shape shape, DType dtype, Location where) {
    if (std::ranges::count(graph_.inputs(), name, &op::Input::name) > 0)
        throw Error(fmt::format("[input] '{}' is declared twice ({})", name, location_text(where)));
    return record(op::Input{std::string(name), dtype, std::move(shape)}, {}, where);
}

Value Builder::param(std::string_view name, Shape shape, Init init, ParamRole role, bool trainable,
                     Location where) {
    std::string full = fmt::format("{}{}", prefix_, name);
    if (!param_names_.insert(full).second)
        throw Error(fmt::format("[param] '{}' is declared twice ({})", full, location_text(where)));
    shape.count();  // refuses sizes that do not fit
    graph_.params.push_back(
        {std::move(full), shape, std::move(init), role, trainable, layer_of(role), attention_});
    return append(op::Param{graph_.params.size() - 1}, {}, std::move(shape), where);
}

void Builder::leave_out(std::string_view name) {
    graph_.left_out.push_back(fmt::format("{}{}", prefix_, name));
}

Value Builder::linear(Value x, const Affine& params, Location where) {
    if (!params.bias) return record(op::Linear{}, {x, params.weight}, where);
    return record(op::Linear{}, {x, params.weight, params.bias}, where);
}

Value Builder::conv2d(Value x, const Affine& params, op::Conv2d options, Location where) {
    if (!params.bias) return record(options, {x, params.weight}, where);
    return record(options, {x, params.weight, params.bias}, where);
}

Value Builder::conv_transpose2d(Value x, const Affine& params, Location where) {
    if (!params.bias) return record(op::ConvTranspose2d{}, {x, params.weight}, where);
    return record(op::ConvTranspose2d{}, {x, params.weight, params.bias}, where);
}

Value Builder::batch_norm(Value x, std::span<const Value> params, op::BatchNorm options,
                          Location where) {
    std::vector<Value> inputs{x};
    inputs.insert(inputs.end(), params.begin(), params.end());
    return record(options, inputs, where);
}

namespace {

op::AttentionOptions attention_options(const AttentionInputs& in, std::int64_t heads,
                                       double scale) {
    return {heads, scale, bool(in.mix_before.weight), bool(in.mix_after.weight)};
}

std::vector<Value> with_mixes(std::vector<Value> inputs, const AttentionInputs& in) {
    for (const Affine& mix : {in.mix_before, in.mix_after})
        if (mix.weight) inputs.insert(inputs.end(), {mix.weight, mix.bias});
    return inputs;
}

}  // namespace

Value Builder::attention_map(const AttentionInputs& in, std::int64_t heads, double scale,
                             Location where) {
    return record(op::AttentionMap{attention_options(in, heads, scale)},
                  with_mixes({in.q, in.k}, in), where);
}

Value Builder::attention(const AttentionInputs& in, std::int64_t heads, double scale,
                         std::string_view map_tap, Location where) {
    const bool is_tapped = !map_tap.empty() && wants(map_tap);
    if (is_tapped || (training() && in.dropout > 0)) {
        const Value map = attention_map(in, heads, scale, where);
        if (is_tapped) output(map_tap, map);
        return attention_apply(dropout(map, in.dropout, where), in.v, where);
    }
    return record(op::Attention{attention_options(in, heads, scale)},
                  with_mixes({in.q, in.k, in.v}, in), where);
}

Value Builder::masked_attention(Value q, Value k, Value v, Value mask, std::int64_t heads,
                                double scale, bool causal, std::string_view map_tap,
                                Location where) {
    const op::MaskedAttention op{heads, scale, causal};
    if (!map_tap.empty() && wants(map_tap)) {
        const Value map = op.map(*this, q, k, mask, where);
        output(map_tap, map);
        return attention_apply(map, v, where);
    }
    if (!mask) return record(op, {q, k, v}, where);
    return record(op, {q, k, v, mask}, where);
}

Value Builder::residual(Value x, Value branch, Value scale, double drop_path, Location where) {
    const op::Residual op{training() ? drop_path : 0.0};
    if (!scale) return record(op, {x, branch}, where);
    return record(op, {x, branch, scale}, where);
}

Affine Builder::linear_params(std::string_view name, std::int64_t in, std::int64_t out,
                              const LinearOptions& options, Location where) {
    const Scope named = scope(name);
    Affine params;
    params.weight = param("weight", {out, in}, options.weight_init, options.role, true, where);
    if (options.bias)
        params.bias = param("bias", {out}, options.bias_init, options.role, true, where);
    return params;
}

Affine Builder::norm_params(std::string_view name, std::int64_t dim, Location where) {
    const Scope named = scope(name);
    return {param("weight", {dim}, Init::ones(), {}, true, where),
            param("bias", {dim}, Init::zeros(), {}, true, where)};
}

Value Builder::linear(std::string_view name, Value x, std::int64_t out,
                      const LinearOptions& options, Location where) {
    const Affine params = linear_params(name, x.extent(-1), out, options, where);
    const Scope named = scope(name);
    return linear(x, params, where);
}

Value Builder::layer_norm(std::string_view name, Value x, double epsilon, Location where) {
    const Affine params = norm_params(name, x.extent(-1), where);
    const Scope named = scope(name);
    return layer_norm(x, params, epsilon, where);
}

Affine Builder::conv_params(std::string_view name, std::int64_t in, std::int64_t out,
                            const ConvOptions& options, Location where) {
    const Scope named = scope(name);
    const std::int64_t per_group = in / options.groups;
    const Init by_fan = Init::fan_in(per_group * options.kernel * options.kernel);
    Affine params;
    params.weight = param("weight", {out, per_group, options.kernel, options.kernel},
                          options.weight_init.value_or(by_fan), {}, true, where);
    if (options.bias)
        params.bias = param("bias", {out}, options.bias_init.value_or(by_fan), {}, true, where);
    return params;
}

Value Builder::conv2d(std::string_view name, Value x, std::int64_t out, const ConvOptions& options,
                      Location where) {
    const Affine params = conv_params(name, x.extent(1), out, options, where);
    const Scope named = scope(name);
    return conv2d(x, params, {options.stride, options.padding, options.groups}, where);
}

Value Builder::conv_transpose2d(std::string_view name, Value x, std::int64_t out, std::int64_t side,
                                Location where) {
    const Scope named = scope(name);
    // PyTorch takes the second axis of a weight for the inputs, whatever the weight is for.
    const Init by_fan = Init::fan_in(out * side * side);
    Affine params;
    params.weight = param("weight", {x.extent(1), out, side, side}, by_fan, {}, true, where);
    params.bias = param("bias", {out}, by_fan, {}, true, where);
    return conv_transpose2d(x, params, where);
}

std::vector<Value> Builder::batch_norm_params(std::string_view name, std::int64_t channels,
                                              const Init& weight_init, Location where) {
    const Scope named = scope(name);
    const Shape shape{channels};
    const ParamRole statistic{.kind = ParamRole::Kind::statistic};
    return {param("weight", shape, weight_init, {}, true, where),
            param("bias", shape, Init::zeros(), {}, true, where),
            param("running_mean", shape, Init::zeros(), statistic, false, where),
            param("running_var", shape, Init::ones(), statistic, false, where)};
}

Value Builder::batch_norm(std::string_view name, Value x, const Init& weight_init,
                          op::BatchNorm options, Location where) {
    const std::vector<Value> params = batch_norm_params(name, x.extent(1), weight_init, where);
    const Scope named = scope(name);
    return batch_norm(x, params, options, where);
}

bool Builder::is_wanted(std::string_view tap) const {
    if (options_.taps.empty())
        return tap == "logits" || (training() && (tap == "logits_dist" || tap == "logits_second"));
    return std::ranges::find(options_.taps, tap) != options_.taps.end();
}

bool Builder::wants(std::string_view tap) {
    offered_.emplace(tap);
    const std::string_view numbered = tap.substr(0, tap.rfind('.') + 1);  // none: empty
    return is_wanted(tap) || demanded_.contains(tap) || demanded_.contains(numbered);
}

Value Builder::demanded(std::string_view tap) {
    const auto found = graph_.outputs.find(std::string(tap));
    if (found == graph_.outputs.end())
        throw UsageError(
            fmt::format("expected a model with the output '{}' for a projection head", tap));
    const Value result = value(found->second);
    if (!is_wanted(tap)) graph_.outputs.erase(found);
    return result;
}

std::vector<Value> Builder::all_demanded(std::string_view prefix) {
    std::vector<Value> found;
    for (std::size_t i = 0;; ++i) {
        const std::string tap = fmt::format("{}{}", prefix, i);
        if (!graph_.outputs.contains(tap)) return found;
        found.push_back(demanded(tap));
    }
}

void Builder::output(std::string_view tap, const std::function<Value()>& compute) {
    if (wants(tap)) graph_.outputs.emplace(tap, compute().id());
}

void Builder::output(std::string_view tap, Value value) {
    if (wants(tap)) graph_.outputs.emplace(tap, value.id());
}

namespace {

// "logits, self_attention.0…23": a deep model offers hundreds of taps.
std::string tap_list(const std::set<std::string>& taps) {
    std::map<std::string, std::vector<long>> numbered;
    std::string text;
    const auto append = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
    for (const std::string& tap : taps) {
        const std::size_t dot = tap.rfind('.');
        if (dot == std::string::npos)
            append(tap);
        else
            numbered[tap.substr(0, dot)].push_back(std::stol(tap.substr(dot + 1)));
    }
    for (const auto& [name, numbers] : numbered) {
        const auto [least, most] = std::ranges::minmax(numbers);
        append(least == most ? fmt::format("{}.{}", name, least)
                             : fmt::format("{}.{}…{}", name, least, most));
    }
    return text;
}

}  // namespace

Graph Builder::finish() {
    for (const std::string& tap : options_.taps)
        if (!graph_.outputs.contains(tap))
            throw UsageError(
                fmt::format("unknown tap '{}'; this model has: {}", tap, tap_list(offered_)));
    return prune(graph_);
}

}  // namespace cait
