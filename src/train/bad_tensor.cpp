#include "train/bad_tensor.h"

#include <fmt/format.h>

namespace cait {

bool is_finite(const at::Tensor& tensor) { return at::isfinite(tensor).all().item<bool>(); }

std::string first_bad_tensor(const TorchExecutor& executor, const NamedInputs<at::Tensor>& inputs,
                             const TorchTensors& weights, EvaluateContext context) {
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : inputs)
        if (!is_finite(tensor)) return inputs.size() == 1 ? "the images" : "the input " + name;
    for (const auto& [name, tensor] : weights)
        if (!is_finite(tensor)) return "weight " + name;
    std::string found;
    context.watch = [&](const Node& node, const at::Tensor& result) {
        if (found.empty() && !is_finite(result))
            found = fmt::format("{} ({})", node.name, location_text(node.where));
    };
    executor.run(inputs, weights, context);
    return found;
}

}  // namespace cait
