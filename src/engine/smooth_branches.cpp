#include "engine/smooth_branches.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/quantized.h"
#include "engine/plan.h"
#include "engine/probe.h"
#include "engine/signal_noise.h"
#include "kernels/linear.h"
#include "kernels/packed_matrix.h"

namespace cait::engine {

namespace {

using kernels::Format;

// A branch whose norm nobody else reads.
struct SmoothableBranch {
    std::string node;
    std::size_t x = 0;  // the node that it reads
    double epsilon = 0;
    std::string norm_weight, norm_bias, weight;
};

std::optional<op::BranchOptions> branch_of(const Node& node) {
    if (const auto* mlp = std::get_if<op::MlpBranch>(&node.op)) return *mlp;
    if (const auto* attention = std::get_if<op::AttentionBranch>(&node.op)) return *attention;
    return std::nullopt;
}

std::vector<SmoothableBranch> branches_of(const Graph& graph, const WeightMap& weights) {
    std::map<std::string, int> uses;
    const auto name_of = [&](std::size_t id) {
        const auto* param = std::get_if<op::Param>(&graph.node(id).op);
        return param == nullptr ? std::string() : graph.params[param->index].name;
    };
    for (const Node& node : graph.nodes)
        for (const std::size_t input : node.inputs) ++uses[name_of(input)];
    std::vector<SmoothableBranch> branches;
    for (const Node& node : graph.nodes) {
        const auto branch = branch_of(node);
        if (!branch || !branch->norm) continue;
        const auto in = branch_inputs(*branch, std::span<const std::size_t>(node.inputs));
        const SmoothableBranch one{node.name,
                                   in.x,
                                   branch->epsilon,
                                   name_of(in.norm_weight),
                                   name_of(in.norm_bias),
                                   name_of(in.weight1)};
        const auto own = [&](const std::string& name) {
            return weights.contains(name) && uses[name] == 1;
        };
        if (own(one.norm_weight) && own(one.norm_bias) && own(one.weight)) branches.push_back(one);
    }
    return branches;
}

// Some rows of what the norm gives before its gain and bias.
std::vector<float> normed_rows(const std::vector<float>& rows, std::size_t columns,
                               double epsilon) {
    std::vector<float> normed(rows.size());
    for (std::size_t row = 0; row < rows.size(); row += columns) {
        double mean = 0, square = 0;
        for (std::size_t c = 0; c < columns; ++c) mean += double(rows[row + c]) / double(columns);
        for (std::size_t c = 0; c < columns; ++c) {
            const double apart = double(rows[row + c]) - mean;
            square += apart * apart / double(columns);
        }
        const double inverse = 1 / std::sqrt(square + epsilon);
        for (std::size_t c = 0; c < columns; ++c)
            normed[row + c] = float((double(rows[row + c]) - mean) * inverse);
    }
    return normed;
}

// Rows of each output, spread over the tokens of all images.
std::map<std::string, std::vector<float>> sampled_rows(const Probe& probe, const Tensor& images) {
    constexpr Index kRows = 512;
    const Index each = std::max<Index>(1, kRows / images.shape()[0]);
    std::map<std::string, std::vector<float>> rows;
    for (Index first = 0; first < images.shape()[0]; first += Probe::kTogether)
        for (const auto& [name, tensor] : probe.run(some_images(images, first))) {
            const auto columns = std::size_t(tensor.shape()[-1]);
            const auto step = std::size_t(std::max<Index>(1, tensor.shape()[1] / each));
            const std::span<const float> values = tensor.floats();
            for (std::size_t row = 0; row * columns < values.size(); row += step) {
                const auto part = values.subspan(row * columns, columns);
                rows[name].insert(rows[name].end(), part.begin(), part.end());
            }
        }
    return rows;
}

void scale_columns(std::span<float> values, std::span<const float> factors, bool divide) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float factor = factors[i % factors.size()];
        values[i] = divide ? values[i] / factor : values[i] * factor;
    }
}

Tensor owned_copy(const Tensor& tensor) { return Tensor::of(tensor.shape(), tensor.floats()); }

// x [rows, columns] · w^T by the engine's own products.
std::vector<float> product(Format format, std::span<const float> x, const Tensor& w, int threads) {
    const Index outputs = w.shape()[0], columns = w.count() / outputs;
    kernels::PackedMatrix packed;
    packed.pack(kernels::forward_source(w.floats().data(), outputs, columns), format, threads);
    const kernels::LinearShape shape{.rows = Index(x.size()) / columns,
                                     .inputs = columns,
                                     .outputs = outputs,
                                     .format = format,
                                     .threads = threads};
    std::vector<float> y(std::size_t(shape.rows * outputs));
    kernels::Workspace workspace;
    kernels::linear_forward(shape, x.data(), packed.view(), nullptr, y.data(), workspace);
    return y;
}

class Smoother {
public:
    Smoother(WeightMap& weights, const QuantizeOptions& options, int threads)
        : weights_(weights), options_(options), threads_(threads) {}

    // The strength that was chosen; none: nothing is changed.
    std::optional<double> smooth(const SmoothableBranch& branch, const std::vector<float>& rows) {
        const Tensor weight = weights_.at(branch.weight);
        const auto columns = std::size_t(weight.count() / weight.shape()[0]);
        std::vector<float> x = normed_rows(rows, columns, branch.epsilon);
        const std::span<const float> gain = weights_.at(branch.norm_weight).floats();
        const std::span<const float> bias = weights_.at(branch.norm_bias).floats();
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = x[i] * gain[i % columns] + bias[i % columns];
        std::optional<double> best;
        if (options_.smoothing == QuantizeOptions::Smoothing::fixed)
            best = options_.strength;
        else
            best = choose(x, weight, columns);
        if (best) apply(branch, smoothing_factors(x, weight.floats(), columns, *best));
        return best;
    }

private:
    std::optional<double> choose(const std::vector<float>& x, const Tensor& weight,
                                 std::size_t columns) const {
        const std::vector<float> expected = product(Format::f32, x, weight, threads_);
        const auto noise = [&](const std::vector<float>& factors) {
            std::vector<float> smoothed = x;
            Tensor moved = owned_copy(weight);
            scale_columns(smoothed, factors, true);
            scale_columns(moved.mutable_floats(), factors, false);
            const QuantizedTensor rounded = quantize_rows(moved);
            SignalNoise error;
            error.add(expected, product(Format::s8, smoothed,
                                        dequantize(rounded.values, rounded.scales), threads_));
            return error.noise;
        };
        std::optional<double> best;
        double least = noise(std::vector<float>(columns, 1.0F));
        for (const double strength : {0.25, 0.5, 0.75})
            if (const double found =
                    noise(smoothing_factors(x, weight.floats(), columns, strength));
                found < least) {
                least = found;
                best = strength;
            }
        return best;
    }

    void apply(const SmoothableBranch& branch, const std::vector<float>& factors) {
        for (const auto& [name, divide] : {std::pair{branch.norm_weight, true},
                                           {branch.norm_bias, true},
                                           {branch.weight, false}}) {
            Tensor changed = owned_copy(weights_.at(name));
            scale_columns(changed.mutable_floats(), factors, divide);
            weights_[name] = changed;
        }
    }

    WeightMap& weights_;
    const QuantizeOptions& options_;
    int threads_;
};

}  // namespace

std::vector<float> smoothing_factors(std::span<const float> x, std::span<const float> w,
                                     std::size_t columns, double strength) {
    constexpr float kLeastValue = 1e-5F;
    constexpr double kMostFactor = 1e3;
    std::vector<float> of_x(columns, kLeastValue), of_w(columns, kLeastValue), factors(columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        of_x[i % columns] = std::max(of_x[i % columns], std::fabs(x[i]));
    for (std::size_t i = 0; i < w.size(); ++i)
        of_w[i % columns] = std::max(of_w[i % columns], std::fabs(w[i]));
    for (std::size_t c = 0; c < columns; ++c)
        factors[c] = float(std::clamp(
            std::pow(double(of_x[c]), strength) / std::pow(double(of_w[c]), 1 - strength),
            1 / kMostFactor, kMostFactor));
    return factors;
}

std::map<std::string, double> smooth_branches(const Graph& graph, WeightMap& weights,
                                              const Tensor& images, const QuantizeOptions& options,
                                              int threads) {
    Computation computation = computation_of(graph, weights);
    const std::vector<SmoothableBranch> branches = branches_of(computation.graph, weights);
    computation.graph.outputs.clear();
    for (const SmoothableBranch& branch : branches)
        computation.graph.outputs[branch.node] = branch.x;
    const std::map<std::string, std::vector<float>> rows =
        branches.empty() ? std::map<std::string, std::vector<float>>{}
                         : sampled_rows(Probe(computation, Format::f32, threads), images);
    kernels::ThreadPool pool(threads);
    const kernels::UsePool use(pool);
    Smoother smoother(weights, options, threads);
    std::map<std::string, double> strengths;
    for (const SmoothableBranch& branch : branches)
        if (const auto strength = smoother.smooth(branch, rows.at(branch.node)))
            strengths[branch.node] = *strength;
    return strengths;
}

}  // namespace cait::engine
