#include "models/alias_weights.h"

#include <algorithm>

#include "base/rename.h"
#include "models/catalogue.h"
#include "models/fairseq_file.h"

namespace cait {

namespace {

// The only token in front of the patches gets its position; the patches keep theirs.
void move_class_position(Tensor& token, Tensor& position) {
    const std::int64_t dim = position.shape()[-1];
    const float* source = position.floats().data();
    Tensor sum = Tensor::empty(DType::f32, token.shape());
    for (std::int64_t i = 0; i < dim; ++i)
        sum.mutable_floats()[std::size_t(i)] = token.floats()[std::size_t(i)] + source[i];
    token = std::move(sum);
    position =
        Tensor::view(DType::f32, {1, position.shape()[1] - 1, dim}, source + dim, position.owner());
}

}  // namespace

std::vector<NamedTensor> alias_weights(const Model& model) {
    std::map<std::string, Tensor> weights = model.weights();
    for (const ParamSpec& spec : record(model.spec()).params)
        if (spec.role.prefix_in_tokens)
            move_class_position(weights.at("cls_token"), weights.at(spec.name));
    const std::vector<Rename> renames = model.spec().architecture->renames();
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : weights) {
        std::vector<std::int64_t> extents = tensor.shape().extents();
        const std::size_t axes = std::max(alias_axes(name, renames), extents.size());
        extents.insert(extents.begin(), axes - extents.size(), 1);
        tensors.push_back({to_alias(name, renames), tensor.reshaped(Shape(extents))});
    }
    if (takes_text(model.spec())) add_for_fairseq(tensors);
    return tensors;
}

}  // namespace cait
