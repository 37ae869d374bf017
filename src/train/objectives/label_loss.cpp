#include "train/objectives/label_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"

namespace cait {

namespace {

at::Tensor wide(const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

// Mean over everything but the classes of -Σ target log softmax(logits).
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
    return -(targets * at::log_softmax(logits, -1)).sum(-1).mean();
}

// Mean over images and classes.
at::Tensor binary_loss(const at::Tensor& logits, const at::Tensor& targets) {
    return at::binary_cross_entropy_with_logits(logits, targets);
}

void check_shape(const char* what, const at::Tensor& found,
                 const std::vector<std::int64_t>& expected) {
    if (!found.defined())
        throw Error(
            fmt::format("[loss] {}: expected {}, found none", what, Shape(expected).to_string()));
    if (found.sizes() == at::IntArrayRef(expected)) return;
    const auto sizes = found.sizes();
    throw Error(fmt::format("[loss] {}: expected {}, found {}", what, Shape(expected).to_string(),
                            Shape(std::vector(sizes.begin(), sizes.end())).to_string()));
}

// How many rows have their highest logit where the label is.
at::Tensor hits(const at::Tensor& logits, const LabelTargets& wanted) {
    const at::Tensor labels = wanted.labels.defined() ? wanted.labels : wanted.mixed.argmax(1);
    return logits.detach().argmax(1).eq(labels).sum();
}

bool has_param(const Graph& graph, std::string_view name) {
    return std::ranges::any_of(graph.params,
                               [&](const ParamSpec& spec) { return spec.name == name; });
}

void check_settings(const LossPart& loss, const DistillPart& distill, std::int64_t classes) {
    if (!(loss.smoothing >= 0 && loss.smoothing < 1))
        throw UsageError(fmt::format(
            "loss.smoothing: expected a number from 0 to below 1, found {}", loss.smoothing));
    // The published code falls into this: a smoothed target is above 0 for every class.
    if (loss.name == "bce" && loss.bce_threshold >= 0 &&
        loss.bce_threshold < loss.smoothing / double(classes))
        throw UsageError(fmt::format(
            "loss.smoothing {} puts every target above loss.bce_threshold {}: expected smoothing "
            "0, or a threshold from {}",
            loss.smoothing, loss.bce_threshold, loss.smoothing / double(classes)));
    if (loss.cosub && (loss.name == "token_label" || distill.kind != Distillation::none))
        throw UsageError("loss.cosub: expected neither token labels nor distillation alongside it");
    if (distill.kind == Distillation::none) return;
    if (!(distill.alpha >= 0 && distill.alpha <= 1))
        throw UsageError(
            fmt::format("distill.alpha: expected a number from 0 to 1, found {}", distill.alpha));
    if (!(distill.temperature > 0))
        throw UsageError(fmt::format("distill.temperature: expected a number above 0, found {}",
                                     distill.temperature));
}

}  // namespace

LabelLoss::LabelLoss(const LossPart& loss, const DistillPart& distill, const ModelSpec& model,
                     const std::vector<double>& class_weights, Mode mode)
    : loss_(loss),
      distill_(distill),
      classes_(model.architecture->common().classes),
      taps_(taps_of(record(model), mode)) {
    check_settings(loss_, distill_, classes_);
    if (class_weights.empty()) return;
    class_weights_ = at::tensor(class_weights, at::kFloat);
    check_shape("class_weights", class_weights_, {classes_});
}

LossResult LabelLoss::operator()(const TorchTensors& outputs, const LabelTargets& wanted) const {
    const auto output = [&](const char* name) {
        const auto found = outputs.find(name);
        return found == outputs.end() ? at::Tensor() : found->second;
    };
    const at::Tensor of_class = output("logits_class"), second = output("logits_second");
    const at::Tensor chosen = of_class.defined() ? of_class : output("logits");
    if (!chosen.defined()) throw Error("[loss] logits: expected some, found none");
    check_shape("logits", chosen, {chosen.size(0), classes_});
    const at::Tensor logits = wide(chosen);
    if (loss_.cosub) return cosub(logits, wanted);

    LossResult result;
    result.total = of_labels(logits, wanted);
    if (second.defined()) result.total = 0.5 * (result.total + of_labels(wide(second), wanted));
    result.correct = hits(logits, wanted);
    result.parts["labels"] = result.total.detach();
    if (loss_.name == "token_label") {
        const at::Tensor tokens = of_tokens(output("logits_aux"), wanted, logits.size(0));
        result.parts["tokens"] = tokens.detach();
        result.total = result.total + loss_.token_weight * tokens;
    }
    if (distill_.kind == Distillation::soft || distill_.kind == Distillation::hard) {
        // Without a head of its own for the teacher, one head learns from both: that is how CaiT
        // is distilled.
        const at::Tensor own = output("logits_dist");
        const at::Tensor student = own.defined() ? wide(own) : logits;
        check_shape("logits_dist", student, {logits.size(0), classes_});
        check_shape("teacher", wanted.teacher, {logits.size(0), classes_});
        const at::Tensor taught = distillation(student, wide(wanted.teacher.detach()));
        result.parts["distill"] = taught.detach();
        result.total = result.total * (1 - distill_.alpha) + taught * distill_.alpha;
    }
    return result;
}

// What an image should be, [rows, K]: given, or the label with the rest of the smoothing spread
// over all classes.
at::Tensor LabelLoss::targets_of(const LabelTargets& wanted, std::int64_t rows) const {
    if (wanted.mixed.defined()) {
        check_shape("targets", wanted.mixed, {rows, classes_});
        return wide(wanted.mixed);
    }
    check_shape("labels", wanted.labels, {rows});
    const double off = loss_.smoothing / double(classes_);
    return at::full({rows, classes_}, off, wanted.labels.options().dtype(at::kFloat))
        .scatter_(1, wanted.labels.unsqueeze(1), 1 - loss_.smoothing + off);
}

// What the class head should say: the image's target, or that of the map which labels its tokens,
// mixed with that of the image at the other end by what they have exchanged.
at::Tensor LabelLoss::class_targets(const LabelTargets& wanted, std::int64_t rows) const {
    at::Tensor targets;
    if (!wanted.maps.defined() || loss_.class_target == ClassTarget::label) {
        targets = targets_of(wanted, rows);
    } else {
        check_shape("map_targets", wanted.maps, {rows, classes_});
        targets = wide(wanted.maps);
        if (loss_.class_target == ClassTarget::blend) {
            // Of the official code: 0.5 where map and label agree, 0.9 where they do not.
            const at::Tensor truth = targets_of(wanted, rows);
            const at::Tensor agrees = targets.argmax(1, true).eq(truth.argmax(1, true));
            const at::Tensor share = 0.9 - 0.4 * agrees.to(targets.scalar_type());
            targets = targets * share + truth * (1 - share);
        }
    }
    if (wanted.exchanged == 0) return targets;
    return (1 - wanted.exchanged) * targets + wanted.exchanged * targets.flip(0);
}

at::Tensor LabelLoss::of_labels(const at::Tensor& logits, const LabelTargets& wanted) const {
    const std::int64_t rows = logits.size(0);
    if (loss_.name == "bce") {
        at::Tensor targets = targets_of(wanted, rows);
        if (loss_.bce_threshold >= 0)
            targets = targets.gt(loss_.bce_threshold).to(targets.scalar_type());
        return binary_loss(logits, targets);
    }
    const bool plain = !wanted.mixed.defined() && !wanted.maps.defined() && wanted.exchanged == 0;
    if (plain && loss_.smoothing == 0 && !is_weighted()) {
        check_shape("labels", wanted.labels, {rows});
        return at::cross_entropy_loss(logits, wanted.labels);
    }
    const at::Tensor targets = class_targets(wanted, rows);
    if (!is_weighted()) return soft_cross_entropy(logits, targets);
    // PyTorch's rule. Not by its function, which would divide by the weights of the images at hand.
    const at::Tensor mean =
        soft_cross_entropy(logits, targets * class_weights_.to(logits.options()));
    if (!plain) return mean;
    return mean / (wanted.mean_weight > 0 ? wanted.mean_weight
                                          : weights_of(wanted.labels).mean().item<double>());
}

at::Tensor LabelLoss::weights_of(const at::Tensor& labels) const {
    return class_weights_.to(labels.device()).index_select(0, labels);
}

// "All Tokens Matter: Token Labeling for Training Better Vision Transformers", Jiang et al. 2021
// (arXiv 2104.10858), which VOLO is trained with.
at::Tensor LabelLoss::of_tokens(const at::Tensor& aux, const LabelTargets& wanted,
                                std::int64_t rows) const {
    if (!aux.defined())
        throw Error(
            fmt::format("[loss] logits_aux: expected [{}, N, {}], found none", rows, classes_));
    const at::Tensor logits = wide(aux);
    check_shape("logits_aux", logits, {rows, logits.size(1), classes_});
    if (!wanted.tokens.defined())
        return soft_cross_entropy(logits, targets_of(wanted, rows).unsqueeze(1));
    check_shape("token_targets", wanted.tokens, {rows, logits.size(1), classes_});
    return soft_cross_entropy(logits, wide(wanted.tokens));
}

at::Tensor LabelLoss::distillation(const at::Tensor& logits, const at::Tensor& teacher) const {
    if (distill_.kind == Distillation::hard)
        return at::cross_entropy_loss(logits, teacher.argmax(1));
    // Hinton et al. 2015 (arXiv 1503.02531). DeiT's code divides by images times classes; the sum
    // over classes of its formula is K times as large for the same alpha.
    const double t = distill_.temperature;
    const at::Tensor student_log = at::log_softmax(logits / t, 1);
    const at::Tensor teacher_log = at::log_softmax(teacher / t, 1);
    const std::int64_t count =
        distill_.soft_mean == SoftMean::images ? logits.size(0) : logits.numel();
    return (teacher_log.exp() * (teacher_log - student_log)).sum() * (t * t) / double(count);
}

// "Co-training 2L Submodels for Visual Recognition", Touvron et al. 2022 (arXiv 2212.04884): two
// passes of one batch, with other branches dropped in each, learn from the labels and from each
// other. Always binary cross-entropy.
LossResult LabelLoss::cosub(const at::Tensor& logits, const LabelTargets& wanted) const {
    if (logits.size(0) % 2 != 0)
        throw Error(
            fmt::format("[loss] cosub: expected an even number of rows, found {}", logits.size(0)));
    const std::int64_t rows = logits.size(0) / 2;
    LabelTargets single;
    if (wanted.mixed.defined()) single.mixed = wanted.mixed.slice(0, 0, rows);
    if (wanted.labels.defined()) single.labels = wanted.labels.slice(0, 0, rows);
    at::Tensor targets = targets_of(single, rows).to(logits.scalar_type());
    if (loss_.name == "bce" && loss_.bce_threshold >= 0)
        targets = targets.gt(loss_.bce_threshold).to(targets.scalar_type());
    const at::Tensor first = logits.slice(0, 0, rows), second = logits.slice(0, rows, 2 * rows);
    const at::Tensor labels = 0.25 * (binary_loss(first, targets) + binary_loss(second, targets));
    const at::Tensor twins = 0.25 * (binary_loss(first, second.detach().sigmoid()) +
                                     binary_loss(second, first.detach().sigmoid()));
    return {labels + twins,
            {{"labels", labels.detach()}, {"twins", twins.detach()}},
            hits(first, single)};
}

std::vector<std::string> LabelLoss::taps_of(const Graph& model, Mode mode) const {
    std::vector<std::string> taps{"logits"};
    const bool distills = distill_.kind != Distillation::none;
    const bool has_dist = has_param(model, "head_dist.weight");
    const bool has_aux = has_param(model, "aux_head.weight");
    const bool has_second = has_param(model, "head_second.weight");
    const bool tokens = loss_.name == "token_label";
    const bool heads_apart = mode == Mode::train || (distills && has_dist) || tokens;
    if (heads_apart && (has_dist || has_aux || has_second)) taps.emplace_back("logits_class");
    if (has_second && loss_.cosub)
        throw UsageError("loss.cosub: expected a model with one class token, found two");
    if (heads_apart && has_second) taps.emplace_back("logits_second");
    if (distills && has_dist) taps.emplace_back("logits_dist");
    if (tokens) {
        if (!has_aux)
            throw UsageError(
                "loss.name: token labels need a head on every token, which this model has not; "
                "expected cross_entropy or bce");
        taps.emplace_back("logits_aux");
    }
    return taps;
}

namespace {

// Labelled pixels of each class, over up to 1,000 images spread over the set.
std::vector<double> pixels_of_classes(const Dataset& train) {
    constexpr std::size_t kCounted = 1000;
    const std::size_t stride = (train.size() + kCounted - 1) / kCounted;
    std::vector<double> counts(kIgnored + 1, 0);
    for (std::size_t i = 0; i < train.size(); i += stride)
        for (const std::uint8_t value : train.label_image(i).values) ++counts[value];
    counts.resize(train.classes().size());
    return counts;
}

}  // namespace

std::vector<double> class_weights(ClassWeights kind, const Dataset& train) {
    if (kind == ClassWeights::none) return {};
    if (train.has_label_images()) return class_weights(kind, pixels_of_classes(train));
    std::vector<double> images(train.classes().size(), 0);
    for (std::size_t i = 0; i < train.size(); ++i) ++images[std::size_t(train.label(i))];
    return class_weights(kind, images);
}

std::vector<double> class_weights(ClassWeights kind, const std::vector<double>& counts) {
    if (kind == ClassWeights::none) return {};
    std::vector<double> weights;
    double all = 0, sum = 0;  // over the images
    for (const double count : counts) {
        const double inverse = 1 / std::max(count, 1.0);
        weights.push_back(kind == ClassWeights::root ? std::sqrt(inverse) : inverse);
        all += count;
        sum += count * weights.back();
    }
    for (double& weight : weights) weight *= all / sum;
    return weights;
}

}  // namespace cait
