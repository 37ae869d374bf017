#include "train/views/view_graphs.h"

#include <fmt/format.h>

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

ViewGraphs::ViewGraphs(const Recorder& record, ImageSize own,
                       std::span<const ViewTransform::Group> groups, PositionRule rule)
    : own_(own) {
    entries_.emplace(std::pair(own.height, own.width), Entry{TorchExecutor(record(own)), {}, {}});
    for (const ViewTransform::Group& group : groups) {
        const ImageSize size{group.height, group.width};
        if (entries_.contains({size.height, size.width})) continue;
        entries_.emplace(std::pair(size.height, size.width), resized(record(size), size, rule));
    }
}

ViewGraphs::Entry ViewGraphs::resized(Graph graph, ImageSize size, PositionRule rule) const {
    std::map<std::string, const ParamSpec*> originals;
    for (const ParamSpec& spec : own().graph().params) originals.emplace(spec.name, &spec);
    Entry entry{TorchExecutor(std::move(graph)), {}, {}};
    for (const ParamSpec& spec : entry.executor.graph().params) {
        const ParamSpec& original = *originals.at(spec.name);
        if (spec.shape == original.shape) continue;
        if (spec.role.kind != ParamRole::Kind::position)
            throw UsageError(
                fmt::format("views: expected the model's size, {}x{}, as {} depends on it; found "
                            "views of {}x{}",
                            own_.height, own_.width, spec.name, size.height, size.width));
        entry.resize.emplace(spec.name, resize_matrix(original.role, spec.role, rule));
        entry.shapes.emplace(spec.name, spec.shape.extents());
    }
    return entry;
}

const ViewGraphs::Entry& ViewGraphs::entry(ImageSize size) const {
    const auto found = entries_.find({size.height, size.width});
    if (found == entries_.end())
        throw Error(fmt::format("views of {}x{}: no graph was recorded for that size", size.height,
                                size.width));
    return found->second;
}

TorchTensors ViewGraphs::params_at(ImageSize size, const TorchTensors& params) const {
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

TorchTensors ViewGraphs::run(const at::Tensor& images, const TorchTensors& params,
                             const EvaluateContext& context) const {
    const ImageSize size{images.size(2), images.size(3)};
    const Entry& wanted = entry(size);
    if (wanted.resize.empty()) return wanted.executor.run(images, params, context);
    return wanted.executor.run(images, params_at(size, params), context);
}

}  // namespace cait
