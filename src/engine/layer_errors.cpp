#include "engine/layer_errors.h"

#include <algorithm>
#include <set>

#include "base/quantized.h"
#include "engine/plan.h"
#include "engine/probe.h"
#include "engine/signal_noise.h"

namespace cait::engine {

namespace {

using kernels::Format;

FormatRules int8_rules(const CompareModels& models) { return {Format::s8, models.options.keep}; }

// Outputs of a node, apart from those that the graph has.
std::string probe_name(const std::string& node) { return "node " + node; }

Computation with_layers(const CompareModels& models, const WeightMap& weights,
                        const FormatRules& rules, const std::vector<LayerError>& layers) {
    Computation result = computation_of(models.graph, weights, rules);
    std::set<std::string> wanted;
    for (const LayerError& layer : layers) wanted.insert(layer.name);
    for (const Node& node : result.graph.nodes)
        if (wanted.contains(node.name)) result.graph.outputs[probe_name(node.name)] = node.id;
    return result;
}

// The whole model.
double measure_together(const CompareModels& models, const Tensor& images,
                        std::vector<LayerError>& layers) {
    const Probe exact(with_layers(models, models.floats, {}, layers), Format::f32, models.threads);
    const Probe whole(with_layers(models, models.rounded, int8_rules(models), layers), Format::s8,
                      models.threads);
    std::map<std::string, SignalNoise> errors;
    for (Index first = 0; first < images.shape()[0]; first += Probe::kTogether) {
        const Tensor some = some_images(images, first);
        const auto expected = exact.run(some), found = whole.run(some);
        for (const auto& [name, tensor] : expected)
            errors[name].add(tensor.floats(), found.at(name).floats());
    }
    for (LayerError& layer : layers)
        layer.results_db = errors.at(probe_name(layer.name)).decibels();
    return errors.at(models.graph.outputs.begin()->first).decibels();
}

// Each layer alone: with its own rounded weights among those of the model as it was.
void measure_alone(const CompareModels& models, const Tensor& images,
                   std::vector<LayerError>& layers) {
    const Tensor some = some_images(images, 0);
    const auto params = node_params(runnable_graph(models.graph));
    const auto store = std::make_shared<WeightStore>();
    const std::string answer = models.graph.outputs.begin()->first;
    const auto logits = [&](const Computation& computation) {
        return Probe(computation, Format::f32, models.threads, store).run(some).at(answer);
    };
    const Tensor expected = logits(computation_of(models.graph, models.floats));
    std::size_t done = 0;
    for (LayerError& layer : layers) {
        WeightMap mixed = models.floats;
        for (const std::string& name : params.at(layer.name)) {
            mixed[name] = models.rounded.at(name);
            if (const auto scales = models.rounded.find(scale_name(name));
                scales != models.rounded.end())
                mixed[scale_name(name)] = scales->second;
        }
        Computation computation = computation_of(models.graph, mixed);
        computation.formats[layer.name] = Format::s8;
        SignalNoise error;
        error.add(expected.floats(), logits(computation).floats());
        layer.logits_db = error.decibels();
        if (models.options.progress) models.options.progress(++done, layers.size());
    }
}

}  // namespace

std::vector<LayerError> weight_errors(const CompareModels& models) {
    const Graph runnable = runnable_graph(models.graph);
    const auto formats = node_formats(runnable, int8_rules(models));
    const auto params = node_params(runnable);
    std::vector<LayerError> layers;
    for (const Node& node : runnable.nodes) {
        const auto format = formats.find(node.name);
        if (format == formats.end() || format->second != Format::s8) continue;
        SignalNoise error;
        for (const std::string& name : params.at(node.name))
            if (models.rounded.at(name).dtype() == DType::i8)
                error.add(models.smoothed.at(name).floats(),
                          float_tensor(name, models.rounded).floats());
        layers.push_back({.name = node.name,
                          .op = std::string(op_name(node.op)),
                          .weights_db = error.decibels()});
    }
    return layers;
}

double measure_errors(const CompareModels& models, const Tensor& images,
                      std::vector<LayerError>& layers) {
    const double logits = measure_together(models, images, layers);
    measure_alone(models, images, layers);
    return logits;
}

}  // namespace cait::engine
