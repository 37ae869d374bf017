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
#include "train/distributed/batch_norm_sync.h"
#include "train/mix_token.h"
#include "train/optim/clip.h"
#include "train/torch/convert.h"

namespace cait {

namespace {

constexpr const char* kWeights = "weights.";
constexpr const char* kOptimizer = "optimizer.";
constexpr const char* kEma = "ema.";
constexpr const char* kViews = "views.";

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

// The entries whose name starts with `prefix`, without it.
std::map<std::string, at::Tensor> entries(const std::map<std::string, Tensor>& tensors,
                                          std::string_view prefix) {
    std::map<std::string, at::Tensor> result;
    for (const auto& [name, tensor] : tensors)
        if (name.starts_with(prefix)) result.emplace(name.substr(prefix.size()), to_torch(tensor));
    return result;
}

Mode mode_of(const Recipe& recipe) {
    return recipe.train.mode == "eval" ? Mode::infer : Mode::train;
}

Graph training_graph(const Recipe& recipe, const ModelSpec& spec,
                     const std::vector<std::string>& of_labels) {
    const std::vector<std::string> taps =
        beyond_labels(recipe.loss.name) ? ViewLearning::taps(recipe, of_labels) : of_labels;
    const bool mixes = recipe.augment.mix_tokens > 0;
    Graph graph = record(spec, {.mode = mode_of(recipe), .mix_tokens = mixes, .taps = taps});
    const auto is_mix = [](const Node& node) {
        return std::holds_alternative<op::MixTokens>(node.op);
    };
    if (mixes && std::ranges::none_of(graph.nodes, is_mix))
        throw UsageError(fmt::format(
            "augment.mix_tokens: expected 0, as {} does not exchange tokens", spec.name));
    return graph;
}

}  // namespace

// A slice of the batch: what goes through the network at once.
struct TrainingStep::Part {
    at::Tensor images;   // [n, C, H, W]
    at::Tensor labels;   // [n]
    at::Tensor targets;  // [n, classes], where labels are mixed
    at::Tensor maps;     // [n, floats], where maps label the tokens
    std::span<const SampleKey> keys;
    std::uint64_t first_image = 0;  // in the batch of all processes
    std::int64_t batch = 0;         // images of all parts of this process
    std::vector<ViewPart::Group> views{};
    std::uint64_t epoch = 0;
};

namespace {

// Images begin … begin + size - 1 of all views.
std::vector<ViewPart::Group> slice(const std::vector<ViewPart::Group>& groups, std::int64_t begin,
                                   std::int64_t size) {
    std::vector<ViewPart::Group> result;
    for (const ViewPart::Group& group : groups) {
        std::vector<std::int64_t> sizes = group.pixels.sizes().vec();
        sizes[0] /= group.count;
        sizes.insert(sizes.begin(), group.count);
        result.push_back(
            {group.pixels.view(sizes).narrow(1, begin, size).flatten(0, 1), group.count});
    }
    return result;
}

}  // namespace

TrainingStep::TrainingStep(const Recipe& recipe, const Model& model, ProcessGroup& group,
                           const std::vector<double>& class_weights)
    : recipe_(recipe),
      group_(group),
      device_(recipe.train.device),
      loss_(recipe.loss, recipe.distill, model.spec(), class_weights, mode_of(recipe)),
      executor_(training_graph(recipe, model.spec(), loss_.taps())),
      parts_(std::max<std::int64_t>(1, recipe.optim.accumulate)),
      size_(model.spec().architecture->common().image_size),
      target_momentum_(recipe.target.momentum) {
    params_ = make_parameters(executor_.graph(), model.weights(), recipe_, device_);
    by_name_ = tensors_of(params_);
    std::vector<at::Tensor> trained;
    for (const TrainParam& param : params_) {
        if (param.statistic) statistics_.push_back(param.value);
        if (param.trained) trained.push_back(param.value);
    }
    optimizer_ = make_optimizer(recipe_.optim, params_);
    if (recipe_.train.ema > 0)
        ema_ = std::make_unique<Ema>(recipe_.train.ema, recipe_.train.ema_warmup, params_);
    if (recipe_.distill.kind != Distillation::none)
        teacher_ = std::make_unique<Teacher>(recipe_.distill, model.spec(),
                                             precision_of(recipe_.train.precision), device_,
                                             model.preprocessing(), model.classes());
    if (beyond_labels(recipe_.loss.name))
        views_ = std::make_unique<ViewLearning>(recipe_, model.spec(), executor_, params_, group_,
                                                device_);
    if (group_.world() > 1) sync_ = std::make_unique<GradientSync>(trained, group_);
}

EvaluateContext TrainingStep::context_of(const Part& part, std::uint64_t step) const {
    EvaluateContext context;
    context.mode = executor_.graph().mode;
    context.frozen = recipe_.train.tune == Tune::head;
    context.precision = precision_of(recipe_.train.precision);
    context.seed = std::uint64_t(recipe_.train.seed);
    context.step = step;
    context.first_image = part.first_image;
    context.image_stride = std::uint64_t(group_.world());
    context.pass_rows = std::uint64_t(part.labels.size(0));
    context.pass_images = std::uint64_t(part.batch);
    context.memory = memory_;
    context.weights_version = weights_version_;
    if (views_ && group_.world() > 1)
        context.sum_over_processes = [this](at::Tensor& sums) { group_.all_reduce_sum(sums); };
    if (given_.token_box) {
        context.token_box = given_.token_box(step);
    } else if (recipe_.augment.mix_tokens > 0) {
        // One box for all images that go through the network at once, as in the official code.
        RandomStream random(context.seed,
                            stable_hash("mix_tokens") ^ (step << 24) ^ context.first_image);
        context.token_box =
            draw_token_box(recipe_.augment.mix_tokens, executor_.graph().patch_grid, random);
    }
    return context;
}

// With cosub two passes, which differ in what stochastic depth leaves out.
at::Tensor TrainingStep::images_of(const Part& part) const {
    if (!part.views.empty()) return part.views[0].pixels;
    return recipe_.loss.cosub ? at::cat({part.images, part.images}) : part.images;
}

LossResult TrainingStep::forward(const Part& part, std::uint64_t step) {
    LossInput input;
    const EvaluateContext context = context_of(part, step);
    if (views_)
        return views_->forward(
            {.groups = part.views, .labels = part.labels, .keys = part.keys, .epoch = part.epoch},
            by_name_, context, loss_);
    input.take(executor_.run(images_of(part), by_name_, context));
    input.labels = part.labels;
    input.targets = part.targets;
    if (recipe_.augment.mix_tokens > 0)
        input.exchanged = exchanged_share(context.token_box, token_grid());
    label_tokens(part, input);
    if (teacher_ && recipe_.distill.kind != Distillation::tokens)
        input.teacher = teacher_->logits(part.images, part.keys);
    return loss_(input);
}

void TrainingStep::label_tokens(const Part& part, LossInput& input) {
    if (maps_ || given_.token_labels) {
        const MapTargets labels = given_.token_labels
                                      ? given_.token_labels()
                                      : map_targets(part.maps, *maps_, token_grid(),
                                                    loss_.classes(), recipe_.loss.smoothing);
        input.token_targets = labels.tokens.to(device_);
        input.map_targets = labels.images.to(device_);
    } else if (recipe_.distill.kind == Distillation::tokens) {
        const Teacher::TokenLabels labels = teacher_->token_labels(part.images, token_grid());
        input.token_targets = labels.tokens;
        input.map_targets = labels.images;
    }
}

std::string TrainingStep::find_bad(const Part& part, std::uint64_t step) {
    std::string found =
        first_bad_tensor(executor_, images_of(part), by_name_, context_of(part, step));
    if (!found.empty()) return found;
    if (teacher_ && recipe_.distill.kind != Distillation::tokens &&
        !is_finite(teacher_->logits(part.images, part.keys)))
        return "the logits of the teacher, " + teacher_->name();
    return "the loss";
}

// Where a loader makes no views, the image itself is the only one.
std::vector<ViewPart::Group> TrainingStep::groups_of(const Batch& batch) const {
    if (!views_) return {};
    if (batch.views.empty()) return {{to_torch(batch.images()).to(device_), 1}};
    std::vector<ViewPart::Group> groups;
    for (const ViewGroup& group : batch.views) {
        const std::int64_t rows = group.count * std::int64_t(batch.size);
        const std::int64_t channels =
            std::int64_t(group.pixels.size()) / (rows * group.height * group.width);
        // Nobody writes to a batch that is trained on.
        auto* pixels = const_cast<float*>(group.pixels.data());
        groups.push_back(
            {at::from_blob(pixels, {rows, channels, group.height, group.width}, at::kFloat)
                 .to(device_),
             group.count});
    }
    return groups;
}

void TrainingStep::add_parts(const LossResult& loss, double share, StepResult& result) {
    for (const auto& [name, value] : loss.parts) result.parts[name] += share * value.item<double>();
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
    if (count % parts_ != 0)
        throw Error(fmt::format("a batch of {} images: expected as many in each of {} parts", count,
                                parts_));
    const std::vector<ViewPart::Group> groups = groups_of(batch);
    const at::Tensor images = views_ ? at::Tensor() : to_torch(batch.images()).to(device_);
    const at::Tensor labels = to_torch(batch.targets.at(kLabels)).to(device_);
    at::Tensor targets;
    if (const auto rows = batch.targets.find(kLabelRows); rows != batch.targets.end())
        targets = to_torch(rows->second).to(device_);

    at::Tensor maps;
    if (maps_) maps = to_torch(batch.targets.at(kLabelMaps));

    at::Tensor sums = at::zeros({3}, at::kDouble);  // loss, hits, images
    const std::int64_t size = count / parts_;
    for (std::int64_t p = 0; p < parts_; ++p) {
        const std::int64_t begin = p * size;
        const Part part{
            .images = images.defined() ? images.narrow(0, begin, size) : at::Tensor(),
            .labels = labels.narrow(0, begin, size),
            .targets = targets.defined() ? targets.narrow(0, begin, size) : at::Tensor(),
            .maps = maps.defined() ? maps.narrow(0, begin, size) : at::Tensor(),
            .keys = std::span(batch.keys).subspan(std::size_t(begin), std::size_t(size)),
            .first_image = std::uint64_t(begin * group_.world() + group_.rank()),
            .batch = count,
            .views = parts_ == 1 ? groups : slice(groups, begin, size),
            .epoch = batch.position.epoch};
        Stopwatch watch;
        const LossResult loss = forward(part, step);
        if (result.first_bad.empty() && !is_finite(loss.total.detach()))
            result.first_bad = find_bad(part, step);
        sums[0] += loss.total.detach().to(at::kCPU, at::kDouble) / double(parts_);
        sums[1] += loss.correct.to(at::kCPU, at::kDouble);
        if (views_) add_parts(loss, 1 / double(parts_), result);
        result.forward_seconds += watch.lap();
        if (sync_) sync_->set_enabled(p + 1 == parts_);
        (loss.total / double(parts_)).backward();
        result.backward_seconds += watch.lap();
    }
    sums[2] += double(count);
    return sums;
}

std::int64_t TrainingStep::view_bytes() const {
    constexpr std::int64_t kPixel = 3 * sizeof(float);
    if (expected_views_.empty()) return kPixel * size_.height * size_.width;
    std::int64_t pixels = 0;
    for (const ViewGroup& group : expected_views_)
        pixels += group.count * group.height * group.width;
    return kPixel * pixels;
}

void TrainingStep::rehearse(std::int64_t images) {
    std::vector<at::Tensor> statistics_before;
    for (const at::Tensor& statistic : statistics_) statistics_before.push_back(statistic.clone());
    const std::int64_t classes = loss_.classes();
    // Samples that no data set has, for a teacher that remembers.
    std::vector<SampleKey> keys(std::size_t(images),
                                SampleKey{.sample = std::numeric_limits<std::uint64_t>::max()});
    Part part{.images = at::zeros({images, 3, size_.height, size_.width}).to(device_),
              .labels = at::zeros({images}, at::kLong).to(device_),
              .targets = at::zeros({images, classes}).to(device_),
              .maps = {},
              .keys = keys,
              .batch = images};
    if (maps_) part.maps = at::zeros({images, label_map_floats(*maps_, token_grid().count())});
    if (views_ && expected_views_.empty()) part.views = {{part.images, 1}};
    for (const ViewGroup& group : expected_views_)
        part.views.push_back(
            {at::zeros({group.count * images, 3, group.height, group.width}).to(device_),
             group.count});
    if (sync_) sync_->set_enabled(false);
    forward(part, 0).total.backward();
    if (views_) views_->forget();
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
        if (views_) views_->forget();
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
        if (double(batch.position.epoch) < recipe_.dino.freeze_last)
            for (TrainParam& param : params_)
                if (param.prototypes) param.value.mutable_grad() = at::Tensor();
        optimizer_->step(lr);
        ++weights_version_;
        if (views_) views_->update(params_, target_momentum_);
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

void TrainingStep::gather_state() {
    if (views_) views_state_ = views_->state();
}

std::map<std::string, Tensor> TrainingStep::state() const {
    std::map<std::string, Tensor> state;
    for (const TrainParam& param : params_)
        state.emplace(kWeights + param.name, share_torch(param.value));
    for (const auto& [name, tensor] : optimizer_->state())
        state.emplace(kOptimizer + name, share_torch(tensor));
    if (ema_)
        for (const auto& [name, tensor] : ema_->state())
            state.emplace(kEma + name, share_torch(tensor));
    for (const auto& [name, tensor] : views_state_)
        state.emplace(kViews + name, share_torch(tensor));
    return state;
}

void TrainingStep::load_state(const std::map<std::string, Tensor>& tensors,
                              const std::string& path) {
    const at::NoGradGuard no_grad;
    ++weights_version_;
    std::map<std::string, at::Tensor> weights = entries(tensors, kWeights);
    for (const TrainParam& param : params_) {
        const auto found = weights.find(param.name);
        if (found == weights.end())
            throw Error(fmt::format("{}: {}: the recipe's model has it, the checkpoint does not",
                                    path, param.name));
        if (found->second.sizes() != param.value.sizes())
            throw Error(fmt::format("{}: {}: the recipe's model has shape {}, the checkpoint {}",
                                    path, param.name, fmt::join(param.value.sizes(), "x"),
                                    fmt::join(found->second.sizes(), "x")));
        at::Tensor value = param.value;
        value.copy_(found->second);
        weights.erase(found);
    }
    if (!weights.empty())
        throw Error(fmt::format("{}: {}: the checkpoint has it, the recipe's model does not", path,
                                weights.begin()->first));
    try {
        optimizer_->load_state(entries(tensors, kOptimizer));
        if (ema_) ema_->load_state(entries(tensors, kEma));
        const std::map<std::string, at::Tensor> of_views = entries(tensors, kViews);
        for (const auto& [name, tensor] : of_views)
            if (!views_ || !views_->keeps(name))
                throw Error(fmt::format(
                    "{}: the checkpoint has it, the recipe's loss.name does not", name));
        if (views_) views_->load_state(of_views);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", path, error.what()));
    }
}

TorchTensors TrainingStep::weights() const { return by_name_; }

TorchTensors TrainingStep::ema_weights() const {
    if (ema_) return ema_->tensors();
    if (recipe_.loss.name == LossKind::dino) return views_->target()->tensors(params_);
    return {};
}

void TrainingStep::average_statistics() {
    average_buffers(group_, statistics_);
    if (views_ && views_->target() != nullptr)
        average_buffers(group_, views_->target()->statistics());
}

}  // namespace cait
