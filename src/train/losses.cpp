#include "train/losses.h"

#include <fmt/format.h>

#include <algorithm>

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
at::Tensor hits(const at::Tensor& logits, const LossInput& input) {
    const at::Tensor wanted = input.labels.defined() ? input.labels : input.targets.argmax(1);
    return logits.detach().argmax(1).eq(wanted).sum();
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
    if (loss.name == LossKind::bce && loss.bce_threshold >= 0 &&
        loss.bce_threshold < loss.smoothing / double(classes))
        throw UsageError(fmt::format(
            "loss.smoothing {} puts every target above loss.bce_threshold {}: expected smoothing "
            "0, or a threshold from {}",
            loss.smoothing, loss.bce_threshold, loss.smoothing / double(classes)));
    if (loss.cosub && (loss.name == LossKind::token_label || distill.kind != Distillation::none))
        throw UsageError("loss.cosub: expected neither token labels nor distillation beside it");
    if (distill.kind == Distillation::none) return;
    if (!(distill.alpha >= 0 && distill.alpha <= 1))
        throw UsageError(
            fmt::format("distill.alpha: expected a number from 0 to 1, found {}", distill.alpha));
    if (!(distill.temperature > 0))
        throw UsageError(fmt::format("distill.temperature: expected a number above 0, found {}",
                                     distill.temperature));
}

}  // namespace

void LossInput::take(const TorchTensors& outputs) {
    const auto get = [&](const char* name) {
        const auto found = outputs.find(name);
        return found == outputs.end() ? at::Tensor() : found->second;
    };
    logits = get("logits");
    logits_class = get("logits_class");
    logits_dist = get("logits_dist");
    logits_second = get("logits_second");
    logits_aux = get("logits_aux");
}

Loss::Loss(const LossPart& loss, const DistillPart& distill, const ModelSpec& model,
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

LossResult Loss::operator()(const LossInput& input) const {
    const at::Tensor& chosen = input.logits_class.defined() ? input.logits_class : input.logits;
    if (!chosen.defined()) throw Error("[loss] logits: expected some, found none");
    check_shape("logits", chosen, {chosen.size(0), classes_});
    const at::Tensor logits = wide(chosen);
    if (loss_.cosub) return cosub(logits, input);

    LossResult result;
    result.total = label_loss(logits, input);
    if (input.logits_second.defined())
        result.total = 0.5 * (result.total + label_loss(wide(input.logits_second), input));
    result.correct = hits(logits, input);
    result.parts["labels"] = result.total.detach();
    if (loss_.name == LossKind::token_label) {
        const at::Tensor tokens = token_loss(input, logits.size(0));
        result.parts["tokens"] = tokens.detach();
        result.total = result.total + loss_.token_weight * tokens;
    }
    if (distill_.kind == Distillation::soft || distill_.kind == Distillation::hard) {
        // Without a head of its own for the teacher, one head learns from both: that is how CaiT
        // is distilled.
        const at::Tensor student = input.logits_dist.defined() ? wide(input.logits_dist) : logits;
        check_shape("logits_dist", student, {logits.size(0), classes_});
        check_shape("teacher", input.teacher, {logits.size(0), classes_});
        const at::Tensor taught = distillation(student, wide(input.teacher.detach()));
        result.parts["distill"] = taught.detach();
        result.total = result.total * (1 - distill_.alpha) + taught * distill_.alpha;
    }
    return result;
}

// What an image should be, [rows, K]: given, or the label with the rest of the smoothing spread
// over all classes.
at::Tensor Loss::targets_of(const LossInput& input, std::int64_t rows) const {
    if (input.targets.defined()) {
        check_shape("targets", input.targets, {rows, classes_});
        return wide(input.targets);
    }
    check_shape("labels", input.labels, {rows});
    const double off = loss_.smoothing / double(classes_);
    return at::full({rows, classes_}, off, input.labels.options().dtype(at::kFloat))
        .scatter_(1, input.labels.unsqueeze(1), 1 - loss_.smoothing + off);
}

// What the class head should say: the image's target, or that of the map which labels its tokens,
// mixed with that of the image at the other end by what they have exchanged.
at::Tensor Loss::class_targets(const LossInput& input, std::int64_t rows) const {
    at::Tensor targets;
    if (!input.map_targets.defined() || loss_.class_target == ClassTarget::label) {
        targets = targets_of(input, rows);
    } else {
        check_shape("map_targets", input.map_targets, {rows, classes_});
        targets = wide(input.map_targets);
        if (loss_.class_target == ClassTarget::blend) {
            // Of the official code: 0.5 where map and label agree, 0.9 where they do not.
            const at::Tensor truth = targets_of(input, rows);
            const at::Tensor agrees = targets.argmax(1, true).eq(truth.argmax(1, true));
            const at::Tensor share = 0.9 - 0.4 * agrees.to(targets.scalar_type());
            targets = targets * share + truth * (1 - share);
        }
    }
    if (input.exchanged == 0) return targets;
    return (1 - input.exchanged) * targets + input.exchanged * targets.flip(0);
}

at::Tensor Loss::label_loss(const at::Tensor& logits, const LossInput& input) const {
    const std::int64_t rows = logits.size(0);
    if (loss_.name == LossKind::bce) {
        at::Tensor targets = targets_of(input, rows);
        if (loss_.bce_threshold >= 0)
            targets = targets.gt(loss_.bce_threshold).to(targets.scalar_type());
        return binary_loss(logits, targets);
    }
    const bool plain = !input.targets.defined() && !input.map_targets.defined();
    const at::Tensor weights = weights_for(logits);
    // Not by LibTorch where classes have weights: it would divide by those of the images at hand,
    // so that a batch in parts or in several processes had another loss than the whole.
    if (plain && loss_.smoothing == 0 && input.exchanged == 0 && !weights.defined()) {
        check_shape("labels", input.labels, {rows});
        return at::cross_entropy_loss(logits, input.labels);
    }
    const at::Tensor targets = class_targets(input, rows);
    return soft_cross_entropy(logits, weights.defined() ? targets * weights : targets);
}

at::Tensor Loss::weights_for(const at::Tensor& logits) const {
    return class_weights_.defined() ? class_weights_.to(logits.options()) : class_weights_;
}

// "All Tokens Matter: Token Labeling for Training Better Vision Transformers", Jiang et al. 2021
// (arXiv 2104.10858), which VOLO is trained with.
at::Tensor Loss::token_loss(const LossInput& input, std::int64_t rows) const {
    if (!input.logits_aux.defined())
        throw Error(
            fmt::format("[loss] logits_aux: expected [{}, N, {}], found none", rows, classes_));
    const at::Tensor logits = wide(input.logits_aux);
    check_shape("logits_aux", logits, {rows, logits.size(1), classes_});
    if (!input.token_targets.defined())
        return soft_cross_entropy(logits, targets_of(input, rows).unsqueeze(1));
    check_shape("token_targets", input.token_targets, {rows, logits.size(1), classes_});
    return soft_cross_entropy(logits, wide(input.token_targets));
}

at::Tensor Loss::distillation(const at::Tensor& logits, const at::Tensor& teacher) const {
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
LossResult Loss::cosub(const at::Tensor& logits, const LossInput& input) const {
    if (logits.size(0) % 2 != 0)
        throw Error(
            fmt::format("[loss] cosub: expected an even number of rows, found {}", logits.size(0)));
    const std::int64_t rows = logits.size(0) / 2;
    LossInput single;
    if (input.targets.defined()) single.targets = input.targets.slice(0, 0, rows);
    if (input.labels.defined()) single.labels = input.labels.slice(0, 0, rows);
    at::Tensor targets = targets_of(single, rows).to(logits.scalar_type());
    if (loss_.name == LossKind::bce && loss_.bce_threshold >= 0)
        targets = targets.gt(loss_.bce_threshold).to(targets.scalar_type());
    const at::Tensor first = logits.slice(0, 0, rows), second = logits.slice(0, rows, 2 * rows);
    const at::Tensor labels = 0.25 * (binary_loss(first, targets) + binary_loss(second, targets));
    const at::Tensor twins = 0.25 * (binary_loss(first, second.detach().sigmoid()) +
                                     binary_loss(second, first.detach().sigmoid()));
    return {labels + twins,
            {{"labels", labels.detach()}, {"twins", twins.detach()}},
            hits(first, single)};
}

std::vector<std::string> Loss::taps_of(const Graph& model, Mode mode) const {
    std::vector<std::string> taps{"logits"};
    const bool distills = distill_.kind != Distillation::none;
    const bool has_dist = has_param(model, "head_dist.weight");
    const bool has_aux = has_param(model, "aux_head.weight");
    const bool has_second = has_param(model, "head_second.weight");
    const bool tokens = loss_.name == LossKind::token_label;
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

}  // namespace cait
