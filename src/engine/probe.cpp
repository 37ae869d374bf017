#include "engine/probe.h"

#include <algorithm>

namespace cait::engine {

std::map<std::string, Tensor> Probe::run(const Tensor& images) const {
    std::map<std::string, Tensor> outputs;
    std::vector<float*> targets;
    for (const Plan::Output& output : plan_.outputs()) {
        Tensor& tensor = outputs[output.name];
        tensor = Tensor::empty(DType::f32, output.shape.with_batch(images.shape()[0]));
        targets.push_back(tensor.mutable_floats().data());
    }
    plan_.run(images.floats().data(), images.shape()[0], targets);
    return outputs;
}

Tensor some_images(const Tensor& images, Index first) {
    Shape shape = images.shape();
    const Index size = images.count() / shape[0];
    shape[0] = std::min(Probe::kTogether, shape[0] - first);
    return Tensor::view(DType::f32, shape, images.floats().data() + first * size, images.owner());
}

}  // namespace cait::engine
