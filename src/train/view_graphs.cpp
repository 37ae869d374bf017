#include "train/view_graphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "train/torch/convert.h"
#include "weights/position_embedding.h"

namespace cait {

namespace {

// Resizing is linear, so the resized unit vectors are its matrix, [rows after, rows before].
at::Tensor resize_matrix(const ParamRole& from, const ParamRole& to, PositionRule rule) {
    const std::int64_t rows = from.prefix + from.grid_height * from.grid_width;
    Tensor units = Tensor::zeros(DType::f32, {1, rows, rows});
    for (std::int64_t i = 0; i < rows; ++i) units.mutable_floats()[std::size_t(i * rows + i)] = 1;
    const Tensor matrix = resize_position_embedding(
        units, from.prefix, from.grid_height, from.grid_width, to.grid_height, to.grid_width, rule);
    return to_torch(matrix).squeeze(0).clone();
}

}  // namespace

GraphSize GraphSize::of(const NamedInputs<at::Tensor>& inputs) {
    const auto source = inputs.find("source"), target = inputs.find("target");
    if (source != inputs.end() && target != inputs.end())
        return TextSize{.source = source->second.size(1), .target = target->second.size(1)};
    if (inputs.size() != 1 || inputs.begin()->second.dim() != 4)
        throw Error("expected images, or source and target of sentences");
    const at::Tensor& images = inputs.begin()->second;
    return ImageSize{images.size(2), images.size(3)};
}

ViewGraphs::ViewGraphs(Recorder record, GraphSize own, PositionRule rule)
    : record_(std::move(record)), size_(own), rule_(rule), own_{TorchExecutor(record_(own))} {}

ViewGraphs::Entry ViewGraphs::resized(const GraphSize& size) const {
    std::map<std::string, const ParamSpec*> originals;
    for (const ParamSpec& spec : own().graph().params) originals.emplace(spec.name, &spec);
    Entry entry{TorchExecutor(record_(size))};
    for (const ParamSpec& spec : entry.executor.graph().params) {
        const ParamSpec& original = *originals.at(spec.name);
        if (spec.shape == original.shape) continue;
        if (spec.role.kind != ParamRole::Kind::position)
            throw UsageError(
                fmt::format("views: expected the model's size, {}x{}, as {} depends on it; found "
                            "views of {}x{}",
                            size_.image.height, size_.image.width, spec.name, size.image.height,
                            size.image.width));
        entry.resize.emplace(spec.name, resize_matrix(original.role, spec.role, rule_));
        entry.shapes.emplace(spec.name, spec.shape.extents());
    }
    return entry;
}

const ViewGraphs::Entry& ViewGraphs::entry(const GraphSize& size) {
    if (size == size_) return own_;
    const Key key(size.image.height, size.image.width, size.text);
    auto found = others_.find(key);
    if (found == others_.end()) {
        make_room();
        found = others_.emplace(key, resized(size)).first;
    }
    found->second.used = ++uses_;
    return found->second;
}

void ViewGraphs::make_room() {
    if (others_.size() < kMostSizes) return;
    others_.erase(
        std::ranges::min_element(others_, {}, [](const auto& entry) { return entry.second.used; }));
}

TorchTensors ViewGraphs::params_at(const GraphSize& size, const TorchTensors& params) {
    const Entry& wanted = entry(size);
    TorchTensors result = params;
    for (const auto& [name, matrix] : wanted.resize) {
        at::Tensor& positions = result.at(name);
        positions =
            at::matmul(matrix.to(positions.options()), positions.reshape({matrix.size(1), -1}))
                .reshape(wanted.shapes.at(name));
    }
    return result;
}

TorchTensors ViewGraphs::run(const NamedInputs<at::Tensor>& inputs, const TorchTensors& params,
                             const EvaluateContext& context) {
    const GraphSize size = GraphSize::of(inputs);
    const Entry& wanted = entry(size);
    if (wanted.resize.empty()) return wanted.executor.run(inputs, params, context);
    return wanted.executor.run(inputs, params_at(size, params), context);
}

}  // namespace cait
