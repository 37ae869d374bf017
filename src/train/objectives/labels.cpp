#include "train/objectives/labels.h"

#include "base/philox.h"
#include "kernels/precision_names.h"
#include "train/bad_tensor.h"
#include "train/objectives/mix_token.h"

namespace cait {

namespace {

// The same settings with the name of the term, where the recipe's is that of a sum.
LossPart loss_part(const ObjectiveSetup& setup) {
    LossPart part = setup.recipe.loss;
    part.name = setup.term;
    return part;
}

// The rows of the first of several views.
TorchTensors first_view(const TorchTensors& outputs, const ObjectiveBatch& batch) {
    if (batch.views[0].count == 1) return outputs;
    TorchTensors first;
    for (const auto& [name, tensor] : outputs)
        first.emplace(name, tensor.narrow(0, 0, batch.size()));
    return first;
}

}  // namespace

LabelObjective::LabelObjective(const ObjectiveSetup& setup)
    : part_(loss_part(setup)),
      distillation_(setup.recipe.distill.kind),
      mix_tokens_(setup.recipe.augment.mix_tokens),
      maps_(setup.data.maps),
      device_(setup.device),
      group_(setup.group),
      loss_(part_, setup.recipe.distill, setup.model.spec(), setup.data.class_weights, setup.mode) {
    if (distillation_ == Distillation::none) return;
    const Model& model = setup.model;
    teacher_ = std::make_unique<Teacher>(setup.recipe.distill, model.spec(),
                                         precision_of(setup.recipe.train.precision), device_,
                                         model.preprocessing(), model.classes());
}

std::vector<std::string> LabelObjective::notes() const {
    return teacher_ ? teacher_->notes() : std::vector<std::string>();
}

std::string LabelObjective::teacher() const {
    return teacher_ ? teacher_->description() : std::string();
}

void LabelObjective::start(const Graph& network, std::span<const TrainParam> /*params*/) {
    grid_ = network.patch_grid;
}

// A batch in parts or in several processes has the loss of the whole.
void LabelObjective::before_batch(const ObjectiveBatch& whole) {
    if (!loss_.is_weighted() || whole.target(kLabelRows).defined()) return;
    const at::Tensor weights = loss_.weights_of(whole.target(kLabels)).to(at::kCPU, at::kDouble);
    at::Tensor sums =
        at::tensor({weights.sum().item<double>(), double(weights.numel())}, at::kDouble);
    if (group_.world() > 1) group_.all_reduce_sum(sums);
    mean_weight_ = sums[0].item<double>() / sums[1].item<double>();
}

void LabelObjective::before_pass(EvaluateContext& context) {
    if (given_.token_box) {
        context.token_box = given_.token_box(context.step);
    } else if (mix_tokens_ > 0) {
        // One box for all images that go through the network at once, as in the official code;
        // the same in all processes.
        RandomStream random(context.seed,
                            stable_hash("mix_tokens") ^ (context.step << 24) ^ context.first_image);
        context.token_box = draw_token_box(mix_tokens_, grid_, random);
    }
}

LossResult LabelObjective::loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                                const EvaluateContext& context) {
    LabelTargets targets;
    targets.labels = batch.target(kLabels);
    targets.mixed = batch.target(kLabelRows);
    targets.mean_weight = mean_weight_;
    if (mix_tokens_ > 0) targets.exchanged = exchanged_share(context.token_box, grid_);
    label_tokens(batch, targets);
    if (teacher_names_classes())
        targets.teacher = teacher_->logits(batch.views[0].pixels, batch.keys);
    return loss_(first_view(outputs[0], batch), targets);
}

bool LabelObjective::teacher_names_classes() const {
    return teacher_ && distillation_ != Distillation::tokens;
}

void LabelObjective::label_tokens(const ObjectiveBatch& batch, LabelTargets& targets) {
    if (maps_ || given_.token_labels) {
        const MapTargets labels =
            given_.token_labels
                ? given_.token_labels()
                : map_targets(batch.target(kLabelMaps), *maps_, grid_, loss_.classes(), part_.smoothing);
        targets.tokens = labels.tokens.to(device_);
        targets.maps = labels.images.to(device_);
    } else if (distillation_ == Distillation::tokens) {
        const Teacher::TokenLabels labels = teacher_->token_labels(batch.views[0].pixels, grid_);
        targets.tokens = labels.tokens;
        targets.maps = labels.images;
    }
}

std::string LabelObjective::first_bad(const ObjectiveBatch& batch) {
    if (teacher_names_classes() && !is_finite(teacher_->logits(batch.views[0].pixels, batch.keys)))
        return "the logits of the teacher, " + teacher_->name();
    return {};
}

std::unique_ptr<Objective> make_labels(const ObjectiveSetup& setup) {
    return std::make_unique<LabelObjective>(setup);
}

}  // namespace cait
