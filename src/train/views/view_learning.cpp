#include "train/views/view_learning.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "train/views/collapse.h"
#include "train/views/instance_loss.h"
#include "train/views/triplet_loss.h"
#include "train/views/unit_rows.h"

namespace cait {

namespace {

constexpr const char* kTarget = "target.";

std::string projection_tap(const Recipe& recipe) {
    return recipe.head.any() ? "projection" : "features";
}

std::string prediction_tap(const Recipe& recipe) {
    return recipe.head.predictor > 0 ? "prediction" : projection_tap(recipe);
}

bool has_instance(LossKind kind) { return has_target(kind) && kind != LossKind::dino; }

bool has_triplet(LossKind kind) {
    return kind == LossKind::triplet || kind == LossKind::ce_triplet;
}

std::int64_t width_of(const Graph& graph, const std::string& output) {
    return graph.node(graph.outputs.at(output)).shape[-1];
}

// The rows of the first view.
TorchTensors first_view(const TorchTensors& outputs, std::int64_t images) {
    TorchTensors first;
    for (const auto& [name, tensor] : outputs) first.emplace(name, tensor.narrow(0, 0, images));
    return first;
}

ModelSpec copy_of(const ModelSpec& spec) {
    return {spec.name, spec.family, spec.preset, spec.architecture->clone(), spec.head};
}

}  // namespace

std::vector<std::string> ViewLearning::taps(const Recipe& recipe,
                                            const std::vector<std::string>& of_labels) {
    const LossKind kind = recipe.loss.name;
    std::vector<std::string> taps;
    if (has_classifier(kind)) taps = of_labels;
    taps.push_back(projection_tap(recipe));
    if (has_instance(kind) && recipe.head.predictor > 0) taps.push_back(prediction_tap(recipe));
    if (kind == LossKind::dino) taps.emplace_back("features");
    return taps;
}

ViewLearning::ViewLearning(const Recipe& recipe, const ModelSpec& model,
                           const TorchExecutor& student, std::span<const TrainParam> params,
                           ProcessGroup& group, at::Device device)
    : recipe_(recipe),
      model_(copy_of(model)),
      student_(student),
      group_(group),
      device_(device),
      projection_(projection_tap(recipe)),
      prediction_(prediction_tap(recipe)) {
    const LossKind kind = recipe.loss.name;
    if (has_target(kind))
        target_ = std::make_unique<TargetNetwork>(
            record(model_, {.mode = Mode::train, .drop_path = 0.0, .taps = {projection_}}), params);
    if (kind == LossKind::dino)
        dino_ = std::make_unique<DinoLoss>(recipe.dino, recipe.head.outputs, group_, device_);
    width_ = width_of(student_.graph(), kind == LossKind::dino ? "features" : projection_);
}

void ViewLearning::remember(std::vector<std::int64_t> labels) {
    if (!has_memory(recipe_.loss.name)) return;
    memory_ = std::make_unique<FeatureMemory>(recipe_.memory, std::move(labels),
                                              width_of(student_.graph(), projection_),
                                              std::uint64_t(recipe_.train.seed), group_, device_);
}

TorchTensors ViewLearning::run(const at::Tensor& pixels, const TorchTensors& weights,
                               const EvaluateContext& context) {
    const ImageSize own = model_.architecture->common().image_size;
    const ImageSize size{pixels.size(2), pixels.size(3)};
    if (size == own) return student_.run(pixels, weights, context);
    const ViewTransform::Group group{1, size.height, size.width};
    if (std::ranges::find(other_sizes_, group) == other_sizes_.end()) {
        other_sizes_.push_back(group);
        std::vector<std::string> taps;
        for (const auto& [name, id] : student_.graph().outputs) taps.push_back(name);
        graphs_.emplace(
            [&](ImageSize wanted) {
                return record(model_, {.mode = Mode::train, .image_size = wanted, .taps = taps});
            },
            own, other_sizes_);
    }
    return graphs_->run(pixels, weights, context);
}

LossResult ViewLearning::forward(const ViewPart& part, const TorchTensors& weights,
                                 const EvaluateContext& context, const Loss& labels) {
    const LossKind kind = recipe_.loss.name;
    const std::int64_t images = part.labels.size(0), views = part.groups.at(0).count;
    const TorchTensors outputs = run(part.groups[0].pixels, weights, context);
    LossResult result;
    result.total = at::zeros({}, at::device(device_));
    result.correct = at::zeros({}, at::device(device_));
    if (has_classifier(kind)) {
        LossInput input;
        input.take(first_view(outputs, images));
        input.labels = part.labels;
        result = labels(input);
    }
    const at::Tensor& projection = outputs.at(projection_);
    if (has_memory(kind)) knn_term(part, projection.narrow(0, 0, images), result);
    const bool alone = kind == LossKind::instance || kind == LossKind::triplet;
    const double weight = alone ? 1 : recipe_.loss.view_weight;
    const auto add = [&](const char* name, const at::Tensor& term) {
        result.parts[name] = term.detach();
        result.total = result.total + weight * term;
    };
    if (has_instance(kind)) add("instance", instance_term(part, outputs, context));
    if (has_triplet(kind)) add("triplet", triplet_loss(projection, views, recipe_.loss.margin));
    if (dino_) dino_term(part, outputs, weights, context, result);
    const at::Tensor& features = dino_ ? outputs.at("features") : projection;
    result.parts[kSpread] = spread_of(features.narrow(0, 0, images));
    return result;
}

at::Tensor ViewLearning::instance_term(const ViewPart& part, const TorchTensors& outputs,
                                       const EvaluateContext& context) {
    const TorchTensors target = target_->run(part.groups[0].pixels, context);
    return instance_loss(outputs.at(prediction_), target.at(projection_), part.groups[0].count);
}

void ViewLearning::knn_term(const ViewPart& part, const at::Tensor& projection,
                            LossResult& result) {
    if (!memory_) throw Error("[loss] memory: expected the labels of the training images");
    const at::Tensor knn = memory_->loss(unit_rows(projection), part.keys, part.labels);
    result.parts["knn"] = knn.detach();
    result.total = result.total + knn;
}

void ViewLearning::dino_term(const ViewPart& part, const TorchTensors& outputs,
                             const TorchTensors& weights, const EvaluateContext& context,
                             LossResult& result) {
    const ViewPart::Group& first = part.groups[0];
    std::vector<at::Tensor> student{outputs.at(projection_)};
    EvaluateContext further = context;
    for (std::size_t g = 1; g < part.groups.size(); ++g) {
        // Stochastic depth has numbers for each view of each image.
        further.first_image +=
            std::uint64_t(part.groups[g - 1].count) * context.pass_images * context.image_stride;
        student.push_back(run(part.groups[g].pixels, weights, further).at(projection_));
    }
    const at::Tensor teacher = target_->run(first.pixels, context).at(projection_);
    const DinoLossResult dino = (*dino_)(at::cat(student), teacher, first.count, part.epoch);
    result.total = dino.loss;
    result.parts[kTeacherEntropy] = dino.entropy;
}

void ViewLearning::update(std::span<const TrainParam> params, double target_momentum) {
    if (target_) target_->update(params, target_momentum);
    if (memory_) memory_->update();
    if (dino_) dino_->update();
}

void ViewLearning::forget() {
    if (target_) target_->forget();
    if (memory_) memory_->forget();
    if (dino_) dino_->forget();
}

std::string ViewLearning::collapse(const std::map<std::string, double>& watched) const {
    return collapse_in(watched, width_, recipe_.head.outputs);
}

TensorState ViewLearning::state() const {
    TensorState state;
    if (target_)
        for (const auto& [name, tensor] : target_->state())
            state.emplace_back(kTarget + name, tensor);
    if (memory_) state.emplace_back("memory", memory_->gathered());
    if (dino_) state.emplace_back("centre", dino_->centre());
    return state;
}

bool ViewLearning::keeps(std::string_view name) const {
    if (name.starts_with(kTarget)) return target_ != nullptr;
    return name == "memory" ? memory_ != nullptr : name == "centre" && dino_ != nullptr;
}

void ViewLearning::load_state(const std::map<std::string, at::Tensor>& state) {
    std::map<std::string, at::Tensor> of_target;
    for (const auto& [name, tensor] : state)
        if (name.starts_with(kTarget))
            of_target.emplace(name.substr(std::string_view(kTarget).size()), tensor);
    const auto find = [&](const char* name) {
        const auto found = state.find(name);
        if (found == state.end())
            throw Error(
                fmt::format("{}: the recipe's loss.name has it, the checkpoint does not", name));
        return found->second;
    };
    if (target_) target_->load_state(of_target);
    if (memory_) memory_->load(find("memory"));
    if (dino_) restore({{"centre", dino_->centre()}}, {{"centre", find("centre")}}, "loss");
}

}  // namespace cait
