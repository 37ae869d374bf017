#include "evaluate/late_fusion.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace cait {

namespace {

constexpr const char* kClass = "logits_class";
constexpr const char* kDistillation = "logits_dist";

double log_sum_exp(std::span<const float> row) {
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    for (const float value : row) sum += std::exp(double(value) - most);
    return most + std::log(sum);
}

}  // namespace

Tensor fused_by_probability(const Tensor& a, const Tensor& b) {
    Tensor result = Tensor::empty(DType::f32, a.shape());
    const auto width = std::size_t(a.shape()[-1]);
    for (std::size_t start = 0; start < a.floats().size(); start += width) {
        const std::span<const float> first = a.floats().subspan(start, width);
        const std::span<const float> second = b.floats().subspan(start, width);
        const double of_first = log_sum_exp(first), of_second = log_sum_exp(second);
        for (std::size_t k = 0; k < width; ++k) {
            // In logarithms, so that a class that both find unlikely keeps a finite one.
            const double x = double(first[k]) - of_first, y = double(second[k]) - of_second;
            const double most = std::max(x, y);
            result.mutable_floats()[start + k] =
                float(most + std::log1p(std::exp(std::min(x, y) - most)) - std::log(2.0));
        }
    }
    return result;
}

std::map<std::string, Tensor> LateFusionExecutor::run(const NamedInputs<Tensor>& inputs,
                                                      const std::vector<std::string>& taps) const {
    std::set<std::string> wanted(taps.begin(), taps.end());
    const bool fuses = wanted.contains("logits");
    if (!fuses) return executor_.run(inputs, taps);
    const bool keeps_class = wanted.contains(kClass), keeps_dist = wanted.contains(kDistillation);
    wanted.insert({kClass, kDistillation});
    std::map<std::string, Tensor> outputs =
        executor_.run(inputs, std::vector(wanted.begin(), wanted.end()));
    outputs["logits"] = fused_by_probability(outputs.at(kClass), outputs.at(kDistillation));
    if (!keeps_class) outputs.erase(kClass);
    if (!keeps_dist) outputs.erase(kDistillation);
    return outputs;
}

}  // namespace cait
