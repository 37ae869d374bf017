#include "engine/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cait/error.h"
#include "engine/steps/steps.h"
#include "engine/strided.h"

namespace cait::engine {

std::vector<Index> image_extents(const Shape& shape) {
    return {shape.begin() + (shape.has_batch() ? 1 : 0), shape.end()};
}

std::size_t image_axis(const Shape& shape, std::int64_t axis) {
    const std::int64_t from_front = axis < 0 ? axis + std::int64_t(shape.rank()) : axis;
    return std::size_t(from_front) - (shape.has_batch() ? 1 : 0);
}

Compiler::Compiler(const Computation& computation, kernels::Format format, WeightStore& store,
                   int threads)
    : graph_(computation.graph),
      weights_(computation.weights),
      formats_(computation.formats),
      format_(format),
      store_(store),
      threads_(threads),
      live_(liveness(graph_, ViewUse::of_source)),
      views_(graph_.nodes.size()) {}

kernels::Format Compiler::node_format() const {
    const auto found = formats_.find(node_->name);
    return found == formats_.end() ? format() : found->second;
}

void Compiler::compile() {
    std::size_t inputs = 0;
    for (const Node& node : graph_.nodes) {
        node_ = &node;
        std::visit(
            [&]<class Op>(const Op& op) {
                if constexpr (std::is_same_v<Op, op::Input>) {
                    if (op.dtype != DType::f32 && op.dtype != DType::i64)
                        throw Error(fmt::format("[input] {}: no step takes {}", op.name,
                                                name_of(op.dtype)));
                    const std::vector<Index> extents = image_extents(node.shape);
                    View images{.memory = View::Memory::input,
                                .buffer = inputs++,
                                .image_step = node.shape.count(),
                                .extents = extents,
                                .steps = dense_steps(extents)};
                    result(std::move(images));
                } else if constexpr (std::is_same_v<Op, op::Param>) {
                    // Read by those who want it, in the form that they want.
                } else if constexpr (steps::Emittable<Op>) {
                    steps::emit(*this, op);
                } else {
                    throw Error(fmt::format("[{}] {} has no meaning at inference ({})",
                                            op_name(node.op), node.name,
                                            location_text(node.where)));
                }
            },
            node.op);
    }
    node_ = nullptr;
}

View Compiler::input(std::size_t i) {
    const std::size_t id = node_->inputs[i];
    const Node& source = graph_.node(id);
    if (!std::holds_alternative<op::Param>(source.op)) return views_[id];
    const std::vector<Index> extents = image_extents(source.shape);
    return {.memory = View::Memory::fixed,
            .fixed = weight_floats(i),
            .extents = extents,
            .steps = dense_steps(extents)};
}

View Compiler::dense(const View& view) {
    if (view.is_dense() && !view.is_weight()) return view;
    return in_order(view, dense_steps(view.extents));
}

View Compiler::in_order(const View& view, const std::vector<Index>& wanted) {
    const bool in_place = view.steps == wanted && view.image_step == view.count();
    if (in_place) return view;
    View copy = make(view.extents);
    copy.steps = wanted;
    emit({view, copy}, [view, copy](const Frame& f) { copy_strided(f, view, copy); });
    return copy;
}

bool Compiler::is_weight(std::size_t i) const {
    return std::holds_alternative<op::Param>(graph_.node(node_->inputs[i]).op);
}

Weight Compiler::weight(std::size_t i) const {
    const auto* param = std::get_if<op::Param>(&graph_.node(node_->inputs[i]).op);
    if (param == nullptr)
        throw Error(fmt::format("[{}] {}: expected input {} to be a weight ({})",
                                op_name(node_->op), node_->name, i, location_text(node_->where)));
    const ParamSpec& spec = graph_.params[param->index];
    return {spec.name, float_weight_of(spec, weights_)};
}

const float* Compiler::weight_floats(std::size_t i) const {
    const Weight w = weight(i);
    return store_.floats(w.name, w.values);
}

kernels::PackedView Compiler::packed_weight(std::size_t i, kernels::Format format) const {
    const Weight w = weight(i);
    const Index outputs = w.values.shape()[0], k = w.values.count() / std::max<Index>(1, outputs);
    return store_.packed(
        w.name, w.values, "rows", format, {k, outputs},
        [&] { return kernels::forward_source(w.values.floats().data(), outputs, k); }, threads_);
}

View Compiler::make(const std::vector<Index>& extents) {
    View view{.buffer = buffers_.size(), .extents = extents, .steps = dense_steps(extents)};
    view.image_step = view.count();
    buffers_.push_back({view.count(), steps_.size(), steps_.size()});
    return view;
}

View Compiler::make_like(const View& view) {
    std::vector<std::size_t> order(view.rank());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t a) { return view.steps[a]; });
    View result = make(view.extents);
    Index step = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        result.steps[order[i]] = step;
        step *= view.extents[order[i]];
    }
    return result;
}

std::size_t Compiler::root_of(std::size_t id) const {
    while (is_view(graph_.node(id).op)) id = graph_.node(id).inputs[0];
    return id;
}

bool Compiler::may_overwrite(const View& view, std::size_t i) const {
    if (view.memory != View::Memory::buffer) return false;
    const std::size_t root = root_of(node_->inputs[i]);
    const bool is_copy = views_[root].memory != View::Memory::buffer ||
                         views_[root].buffer != view.buffer;  // made for this step alone
    return is_copy || live_.last_use[root] == node_->id;
}

void Compiler::touch(const View& view) {
    if (view.memory == View::Memory::buffer)
        buffers_[view.buffer].last = std::max(buffers_[view.buffer].last, steps_.size());
}

void Compiler::emit(std::vector<View> uses, std::function<void(const Frame&)> run) {
    for (const View& view : uses) touch(view);
    steps_.push_back({node_->name, op_name(node_->op), std::move(run)});
}

void Compiler::result(View view) { views_[node_->id] = std::move(view); }

void Compiler::keep(const View& view) { touch(view); }

}  // namespace cait::engine
