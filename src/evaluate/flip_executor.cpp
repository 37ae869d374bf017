#include "evaluate/flip_executor.h"

#include <algorithm>

namespace cait {

namespace {

Tensor mirrored(const Tensor& images) {
    Tensor result = Tensor::empty(DType::f32, images.shape());
    const auto width = std::size_t(images.shape()[3]);
    for (std::size_t row = 0; row < images.floats().size(); row += width)
        std::ranges::reverse_copy(images.floats().subspan(row, width),
                                  result.mutable_floats().subspan(row, width).begin());
    return result;
}

}  // namespace

std::map<std::string, Tensor> FlipExecutor::run(const NamedInputs<Tensor>& inputs,
                                                const std::vector<std::string>& taps) const {
    std::map<std::string, Tensor> outputs = executor_.run(inputs, taps);
    NamedInputs<Tensor> flipped;
    for (const auto& [name, images] : inputs) flipped[name] = mirrored(images);
    const std::map<std::string, Tensor> others = executor_.run(flipped, taps);
    for (auto& [name, values] : outputs) {
        const std::span<float> mean = values.mutable_floats();
        const std::span<const float> other = others.at(name).floats();
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
    }
    return outputs;
}

}  // namespace cait
