// cait/quantize.h: smooths, rounds, and measures what that costs.
#include "cait/quantize.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/convert.h"
#include "base/quantized.h"
#include "engine/layer_errors.h"
#include "engine/plan.h"
#include "engine/smooth_branches.h"
#include "models/catalogue.h"
#include "system/cpu_limit.h"

namespace cait {

namespace {

// Large matrices that stay floats take half the bytes where nothing is too large for that. Half
// precision has eleven bits, more than products with bfloat16 see.
Tensor smaller_floats(const Tensor& tensor) {
    constexpr std::int64_t kLeastValues = 4096;
    if (tensor.shape().rank() < 2 || tensor.count() < kLeastValues) return tensor;
    constexpr float kMost = 65504;
    const bool fits =
        std::ranges::all_of(tensor.floats(), [](float v) { return v >= -kMost && v <= kMost; });
    return fits ? convert(tensor, DType::f16) : tensor;
}

WeightMap rounded_weights(const WeightMap& floats, const std::vector<std::string>& names) {
    WeightMap rounded;
    for (const auto& [name, tensor] : floats) rounded[name] = smaller_floats(tensor);
    for (const std::string& name : names) try {
            QuantizedTensor one = quantize_rows(floats.at(name));
            rounded[name] = std::move(one.values);
            rounded[scale_name(name)] = std::move(one.scales);
        } catch (const Error& error) {
            throw Error(fmt::format("tensor '{}': {}", name, error.what()));
        }
    return rounded;
}

void check_request(const Model& model, const Tensor& images, const QuantizeOptions& options) {
    expect_images(model.spec());
    if (!model.quantized().empty())
        throw Error(fmt::format("{}: expected float weights, found {} tensors of int8",
                                model.spec().name, model.quantized().size()));
    if (options.smoothing == QuantizeOptions::Smoothing::off) return;
    if (!images.defined())
        throw UsageError("smoothing: expected images that show what the layers see, found none");
    if (!(options.strength >= 0 && options.strength <= 1))
        throw UsageError(fmt::format("smoothing: expected 0 to 1, found {}", options.strength));
}

}  // namespace

QuantizedModel quantize(const Model& model, const Tensor& images, const QuantizeOptions& options) {
    check_request(model, images, options);
    const int threads = options.threads > 0 ? options.threads : default_threads();
    // What images go through, which a detector has more than.
    const Graph graph = record(model.spec(), {.taps = default_taps(model.spec())});
    const std::vector<std::string> names = engine::quantized_params(
        engine::runnable_graph(record(model.spec())), {kernels::Format::s8, options.keep});
    if (names.empty())
        throw Error(
            fmt::format("{}: expected products that can be int8, found none", model.spec().name));
    WeightMap floats;
    for (const auto& [name, tensor] : model.weights()) floats[name] = convert(tensor, DType::f32);
    WeightMap smoothed = floats;
    std::map<std::string, double> strengths;
    if (options.smoothing != QuantizeOptions::Smoothing::off)
        strengths = engine::smooth_branches(graph, smoothed, images, options, threads);
    const WeightMap rounded = rounded_weights(smoothed, names);

    QuantizedModel result{.model = model.with_weights(rounded), .layers = {}};
    result.model.set_kept(options.keep);
    const engine::CompareModels compared{graph, floats, smoothed, rounded, options, threads};
    result.layers = engine::weight_errors(compared);
    for (LayerError& layer : result.layers)
        if (const auto found = strengths.find(layer.name); found != strengths.end())
            layer.smoothing = found->second;
    if (images.defined() && images.shape()[0] > 0) {
        result.images = std::size_t(images.shape()[0]);
        result.logits_db = engine::measure_errors(compared, images, result.layers);
    }
    for (const auto& [name, tensor] : floats) result.bytes_before += tensor.count() * 4;
    for (const auto& [name, tensor] : rounded)
        result.bytes_after += std::int64_t(tensor.byte_size());
    return result;
}

}  // namespace cait
