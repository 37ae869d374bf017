#include "train/training_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "cait/error.h"
#include "kernels/precision_names.h"
#include "models/catalogue.h"
#include "system/file_guard.h"
#include "train/bad_tensor.h"
#include "train/objectives/objective_table.h"
#include "train/optim/clip.h"
#include "train/recipe/batch_mixing.h"
#include "train/torch/convert.h"

namespace cait {

namespace {

class Stopwatch {
public:
    // Seconds since the last lap.
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Mode mode_of(const Recipe& recipe) {
    return recipe.train.mode == "eval" ? Mode::infer : Mode::train;
}

// The least that a graph can be recorded for: whatever knows parameters alone takes this one.
constexpr TextSize kShortest{.source = 1, .target = 1};

GraphSize own_size(const ModelSpec& spec) {
    if (takes_text(spec)) return kShortest;
    return spec.architecture->common().image_size;
}

Graph training_graph(const Recipe& recipe, const ModelSpec& spec,
                     const std::vector<std::string>& taps, const GraphSize& size) {
    const bool mixes = recipe.augment.mix_tokens > 0;
    RecordOptions options{.mode = mode_of(recipe), .mix_tokens = mixes, .taps = taps};
    if (takes_text(spec))
        options.text_size = size.text;
    else
        options.image_size = size.image;
    Graph graph = record(spec, options);
    const auto is_mix = [](const Node& node) {
        return std::holds_alternative<op::MixTokens>(node.op);
    };
    if (mixes && std::ranges::none_of(graph.nodes, is_mix))
        throw UsageError(fmt::format(
            "augment.mix_tokens: expected 0, as {} does not exchange tokens", spec.name));
    return graph;
}

// Images begin … begin + size - 1 of everything.
ObjectiveBatch slice(const ObjectiveBatch& whole, std::int64_t begin, std::int64_t size) {
    ObjectiveBatch part = whole;
    for (auto& [name, input] : part.inputs) input = input.narrow(0, begin, size);
    for (auto& [name, target] : part.targets) target = target.narrow(0, begin, size);
    part.keys = whole.keys.subspan(std::size_t(begin), std::size_t(size));
    for (ObjectiveBatch::Views& views : part.views) {
        std::vector<std::int64_t> sizes = views.pixels.sizes().vec();
        sizes[0] /= views.count;
        sizes.insert(sizes.begin(), views.count);
        views.pixels = views.pixels.view(sizes).narrow(1, begin, size).flatten(0, 1);
    }
    return part;
}

// All that learns: the network and what the objective runs itself.
Graph whole_graph(const Recipe& recipe, const ModelSpec& spec, const Objective& objective,
                  const GraphSize& size) {
    std::vector<std::string> taps = objective.taps();
    std::ranges::copy(objective.own_taps(), std::back_inserter(taps));
    return training_graph(recipe, spec, taps, size);
}

bool depends_on_size(const ParamSpec& param) {
    return param.role.kind == ParamRole::Kind::position ||
           param.role.kind == ParamRole::Kind::patch_mixing;
}

TorchTensors named_tensors(const std::map<std::string, Tensor>& named, at::Device device) {
    TorchTensors tensors;
    for (const auto& [name, tensor] : named) tensors.emplace(name, to_torch(tensor).to(device));
    return tensors;
}

// Of `samples` rows: numbers are ones, so that masks hide nothing, and pieces the first that there
// is.
at::Tensor empty_input(const op::Input& input, std::int64_t samples) {
    const std::vector<std::int64_t> shape = input.shape.with_batch(samples).extents();
    return input.dtype == DType::f32 ? at::ones(shape) : at::zeros(shape, at::kLong);
}

}  // namespace

// A slice of the batch: what goes through the network at once.
struct TrainingStep::Part {
    ObjectiveBatch batch;
    std::uint64_t first_image = 0;  // of this process's
    std::int64_t images = 0;        // of all parts of this process
};

TrainingStep::TrainingStep(const Recipe& recipe, const Model& model, ProcessGroup& group,
                           const DataFacts& data)
    : recipe_(recipe),
      group_(group),
      device_(recipe.train.device),
      objective_(make_objective({.recipe = recipe,
                                 .model = model,
                                 .data = data,
                                 .term = {},
                                 .group = group,
                                 .device = device_,
                                 .mode = mode_of(recipe)})),
      needs_(objective_->needs()),
      parts_(std::max<std::int64_t>(1, recipe.optim.accumulate)),
      channels_(model.spec().architecture->common().channels),
      views_(data.views),
      longest_(data.longest),
      targets_(data.targets),
      target_momentum_(recipe.target.momentum) {
    const GraphSize size = own_size(model.spec());
    if (takes_text(model.spec()) && !longest_) longest_ = kShortest;
    if (views_.empty() && !longest_) views_ = {{1, size.image.height, size.image.width, {}}};
    const auto spec = std::make_shared<const ModelSpec>(
        ModelSpec{model.spec().name, model.spec().family, model.spec().preset,
                  model.spec().architecture->clone(), model.spec().head});
    network_ = std::make_unique<ViewGraphs>(
        [spec, recipe, taps = objective_->taps()](const GraphSize& wanted) {
            return training_graph(recipe, *spec, taps, wanted);
        },
        size);
    const Graph& graph = network_->own().graph();
    takes_any_size_ = std::ranges::none_of(graph.params, depends_on_size);
    params_ = make_parameters(whole_graph(recipe, *spec, *objective_, size), model.weights(),
                              recipe_, device_);
    by_name_ = cait::tensors_of(params_);
    std::vector<at::Tensor> trained;
    for (const TrainParam& param : params_) {
        if (param.statistic) statistics_.push_back(param.value);
        if (param.trained) trained.push_back(param.value);
    }
    optimizer_ = make_optimizer(recipe_.optim, params_);
    if (recipe_.train.ema > 0)
        ema_ = std::make_unique<Ema>(recipe_.train.ema, recipe_.train.ema_warmup, params_);
    objective_->start(graph, params_);
    if (group_.world() > 1) sync_ = std::make_unique<GradientSync>(trained, group_);
}

EvaluateContext TrainingStep::context_of(const Part& part, std::uint64_t step) const {
    EvaluateContext context;
    context.mode = mode_of(recipe_);
    context.frozen = recipe_.train.tune == Tune::head;
    context.frozen_norms = recipe_.train.frozen_norms;
    context.precision = precision_of(recipe_.train.precision);
    context.quantize = recipe_.train.quantize == "int8";
    context.seed = std::uint64_t(recipe_.train.seed);
    context.step = step;
    context.first_image = part.first_image;
    context.deal = deal_of(recipe_, std::size_t(group_.rank()), std::size_t(group_.world()));
    context.pass_rows = std::uint64_t(part.batch.size());
    context.pass_images = std::uint64_t(part.images);
    context.memory = memory_;
    context.weights_version = weights_version_;
    if (needs_.shared_batch_norms && group_.world() > 1)
        context.sum_over_processes = [this](at::Tensor& sums) { group_.all_reduce_sum(sums); };
    objective_->before_pass(context);
    return context;
}

NamedInputs<at::Tensor> TrainingStep::inputs_of(const ObjectiveBatch::Views& views) const {
    return needs_.passes == 1 ? views.pixels : views.pixels.repeat({needs_.passes, 1, 1, 1});
}

std::vector<NamedInputs<at::Tensor>> TrainingStep::inputs_of(const ObjectiveBatch& batch) const {
    std::vector<NamedInputs<at::Tensor>> inputs;
    for (const ObjectiveBatch::Views& views : batch.views) {
        inputs.push_back(inputs_of(views));
        if (!needs_.every_view) break;
    }
    if (batch.inputs.empty()) return inputs;
    NamedInputs<at::Tensor>& named = inputs.emplace_back();
    named.insert(batch.inputs.begin(), batch.inputs.end());
    return inputs;
}

LossResult TrainingStep::forward(const Part& part, std::uint64_t step) {
    const EvaluateContext context = context_of(part, step);
    EvaluateContext pass = context;
    std::vector<TorchTensors> outputs;
    for (const NamedInputs<at::Tensor>& inputs : inputs_of(part.batch)) {
        outputs.push_back(network_->run(inputs, by_name_, pass));
        // Stochastic depth has numbers for each view of each image.
        if (const std::size_t next = outputs.size(); next < part.batch.views.size())
            pass.passes_before += std::uint64_t(part.batch.views[next - 1].count);
    }
    return objective_->loss(outputs, part.batch, context);
}

std::string TrainingStep::find_bad(const Part& part, std::uint64_t step) {
    const NamedInputs<at::Tensor> inputs = inputs_of(part.batch).at(0);
    const GraphSize size = GraphSize::of(inputs);
    std::string found = first_bad_tensor(
        network_->at(size), inputs, network_->params_at(size, by_name_), context_of(part, step));
    if (found.empty()) found = objective_->first_bad(part.batch);
    return found.empty() ? "the loss" : found;
}

// Where a loader makes no views, the image itself is the only one.
ObjectiveBatch TrainingStep::tensors_of(Batch& batch) const {
    const auto count = std::int64_t(batch.size);
    ObjectiveBatch whole;
    whole.targets = named_tensors(batch.targets, device_);
    whole.keys = batch.keys;
    whole.epoch = batch.position.epoch;
    whole.inputs = named_tensors(batch.inputs, device_);
    if (!whole.inputs.empty()) return whole;
    if (batch.views.empty()) whole.views = {{to_torch(batch.images()).to(device_), 1}};
    for (ViewGroup& group : batch.views)
        whole.views.push_back(
            {at::from_blob(group.pixels.data(),
                           {group.count * count, channels_, group.height, group.width}, at::kFloat)
                 .to(device_),
             group.count});
    return whole;
}

void TrainingStep::cut(ObjectiveBatch& whole) const {
    const ImageSize shown = objective_->shown();
    if (!takes_any_size_ || shown.height == 0) return;
    for (ObjectiveBatch::Views& views : whole.views)
        views.pixels = views.pixels.narrow(2, 0, std::min(shown.height, views.pixels.size(2)))
                           .narrow(3, 0, std::min(shown.width, views.pixels.size(3)))
                           .contiguous();
}

void TrainingStep::average_parts(StepResult& result) {
    if (group_.world() == 1 || result.parts.empty()) return;
    std::vector<double> values;
    for (const auto& [name, value] : result.parts) values.push_back(value);
    at::Tensor sums = at::tensor(values, at::kDouble);
    group_.all_reduce_sum(sums);
    std::int64_t i = 0;
    for (auto& [name, value] : result.parts)
        value = sums[i++].item<double>() / double(group_.world());
}

at::Tensor TrainingStep::gradients(Batch& batch, std::uint64_t step, StepResult& result) {
    const auto count = std::int64_t(batch.size);
    ObjectiveBatch whole = tensors_of(batch);
    objective_->before_batch(whole);
    cut(whole);
    at::Tensor sums = at::zeros({3}, at::kDouble);  // loss, hits, images
    // The last batch of an epoch may be smaller, and then its last part.
    const std::int64_t most = (count + parts_ - 1) / parts_;
    for (std::int64_t begin = 0; begin < count; begin += most) {
        const std::int64_t size = std::min(most, count - begin);
        const double parts = double(count) / double(size);  // if all were like this one
        const Part part{.batch = size == count ? whole : slice(whole, begin, size),
                        .first_image = std::uint64_t(begin),
                        .images = count};
        Stopwatch watch;
        const LossResult loss = forward(part, step);
        if (result.first_bad.empty() && !is_finite(loss.total.detach()))
            result.first_bad = find_bad(part, step);
        sums[0] += loss.total.detach().to(at::kCPU, at::kDouble) / parts;
        if (loss.correct.defined()) sums[1] += loss.correct.to(at::kCPU, at::kDouble);
        sums[2] += double(loss.pieces.value_or(size));
        if (needs_.logs_parts)
            for (const auto& [name, value] : loss.parts)
                result.parts[name] += value.item<double>() / parts;
        result.forward_seconds += watch.lap();
        if (sync_) sync_->set_enabled(begin + size == count);
        (loss.total / parts).backward();
        result.backward_seconds += watch.lap();
    }
    return sums;
}

std::int64_t TrainingStep::sample_bytes() const {
    std::int64_t bytes = 0;
    for (const ViewGroup& group : views_)
        bytes += channels_ * group.count * group.height * group.width * std::int64_t(sizeof(float));
    if (!longest_) return bytes;
    // A number for each piece of both sides and of the answer, and the mask.
    constexpr auto kPiece = std::int64_t(sizeof(std::int64_t));
    return longest_->source * (kPiece + std::int64_t(sizeof(float))) +
           longest_->target * 2 * kPiece;
}

ObjectiveBatch TrainingStep::empty_batch(std::int64_t samples) {
    ObjectiveBatch batch;
    Targets targets;
    for (const TargetPtr& target : targets_) target->prepare(std::size_t(samples), targets);
    for (auto& [name, tensor] : targets) tensor = Tensor::zeros(tensor.dtype(), tensor.shape());
    for (const TargetPtr& target : targets_) target->collate({}, targets);
    batch.targets = named_tensors(targets, device_);
    objective_->put_fullest_targets(samples, batch.targets);
    for (const ViewGroup& group : views_)
        batch.views.push_back(
            {at::zeros({group.count * samples, channels_, group.height, group.width}).to(device_),
             group.count});
    if (longest_)
        for (const op::Input& input : network_->at(*longest_).graph().inputs())
            batch.inputs.emplace(input.name, empty_input(input, samples).to(device_));
    return batch;
}

void TrainingStep::rehearse(std::int64_t samples) {
    std::vector<at::Tensor> statistics_before;
    for (const at::Tensor& statistic : statistics_) statistics_before.push_back(statistic.clone());
    // Samples that no data set has, for an objective that remembers.
    const std::vector<SampleKey> keys(
        std::size_t(samples), SampleKey{.sample = std::numeric_limits<std::uint64_t>::max()});
    Part part{.batch = empty_batch(samples), .images = samples};
    part.batch.keys = keys;
    if (sync_) sync_->set_enabled(false);
    forward(part, 0).total.backward();
    objective_->forget();
    optimizer_->zero_grad();
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < statistics_.size(); ++i) statistics_[i].copy_(statistics_before[i]);
}

StepResult TrainingStep::run(Batch& batch, std::uint64_t step, double lr) {
    std::vector<at::Tensor> statistics_before;
    for (const at::Tensor& statistic : statistics_) statistics_before.push_back(statistic.clone());

    const auto forget_batch = [&] {  // as if it had not been seen
        const at::NoGradGuard no_grad;
        for (std::size_t i = 0; i < statistics_.size(); ++i)
            statistics_[i].copy_(statistics_before[i]);
        objective_->forget();
    };

    StepResult result;
    optimizer_->zero_grad();
    at::Tensor sums;
    try {
        sums = gradients(batch, step, result);
    } catch (const FileChanged&) {  // of the teacher or the data; what was trained can be saved
        forget_batch();
        throw;
    }
    Stopwatch watch;
    if (sync_) sync_->finish();
    if (group_.world() > 1) group_.all_reduce_sum(sums);
    result.loss = sums[0].item<double>() / group_.world();
    result.correct = sums[1].item<double>();
    result.images = sums[2].item<double>();
    average_parts(result);
    result.backward_seconds += watch.lap();

    const GradientCheck check = clip_gradients(params_, recipe_.optim);
    result.gradient_norm = check.norm;
    if (!std::isfinite(result.loss))
        result.first_bad = agreed_reason(result.first_bad);
    else if (!check.first_bad.empty())
        result.first_bad = "the gradient of " + check.first_bad;
    if (result.first_bad.empty()) {
        objective_->edit_gradients(params_, batch.position.epoch);
        optimizer_->step(lr);
        ++weights_version_;
        objective_->after_step(params_, target_momentum_);
        if (ema_) ema_->update(params_);
    } else {
        forget_batch();
    }
    result.optimizer_seconds = watch.lap();
    return result;
}

std::string TrainingStep::agreed_reason(const std::string& mine) {
    if (group_.world() == 1) return mine;
    for (const std::string& reason : group_.all_gather(mine))
        if (!reason.empty()) return reason;
    return "the sum of the processes' losses";
}

}  // namespace cait
