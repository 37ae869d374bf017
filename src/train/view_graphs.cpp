#include "train/view_graphs.h"

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

ViewGraphs::ViewGraphs(Recorder record, ImageSize own, PositionRule rule)
    : record_(std::move(record)), size_(own), rule_(rule), own_{TorchExecutor(record_(own))} {}

ViewGraphs::Entry ViewGraphs::resized(ImageSize size) const {
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
                            size_.height, size_.width, spec.name, size.height, size.width));
        entry.resize.emplace(spec.name, resize_matrix(original.role, spec.role, rule_));
        entry.shapes.emplace(spec.name, spec.shape.extents());
    }
    return entry;
}

const ViewGraphs::Entry& ViewGraphs::entry(ImageSize size) {
    if (size == size_) return own_;
    const std::pair key(size.height, size.width);
    const auto found = others_.find(key);
    return found != others_.end() ? found->second
                                  : others_.emplace(key, resized(size)).first->second;
}

TorchTensors ViewGraphs::params_at(ImageSize size, const TorchTensors& params) {
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
                             const EvaluateContext& context) {
    const ImageSize size{images.size(2), images.size(3)};
    const Entry& wanted = entry(size);
    if (wanted.resize.empty()) return wanted.executor.run(images, params, context);
    return wanted.executor.run(images, params_at(size, params), context);
}

}  // namespace cait
