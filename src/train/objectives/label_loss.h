// The loss on labels, a teacher's part in it (distillation), the agreement of two passes (cosub),
// and token labels. Computed in float32 whatever the model computes in.
#pragma once

#include "train/torch/libtorch.h"

#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/catalogue.h"
#include "train/objectives/objective.h"

namespace cait {

// What images should be: B of them, K classes, N tokens. Undefined where there is none.
struct LabelTargets {
    at::Tensor labels;   // [B] int64
    at::Tensor mixed;    // [B, K] mixed or smoothed already; stands for `labels`
    at::Tensor tokens;   // [B, N, K]; without them each token has the image's target
    at::Tensor maps;     // [B, K] what labels the tokens says this of the whole image
    at::Tensor teacher;  // [B, K] logits
    // MixToken: the image at the other end of the batch has this share of what the class head sees
    // of an image. Tokens are back in their own images.
    double exchanged = 0;
    // Of the classes' weights over the labels of the whole batch; 0: these rows are the whole.
    double mean_weight = 0;
};

class LabelLoss {
public:
    // Throws UsageError for settings that contradict each other, or when the model has no head for
    // the loss.
    // `class_weights`: one per class, for cross-entropy, as the weight of PyTorch's: a mean
    // weighted by the labels' classes, smoothed or not, but divided by the images where targets are
    // mixed; empty: all count the same. With Mode::infer the model's joint logits are what labels
    // are compared with, as at evaluation.
    LabelLoss(const LossPart& loss, const DistillPart& distill, const ModelSpec& model,
              const std::vector<double>& class_weights = {}, Mode mode = Mode::train);

    // `outputs`: logits [B, K]; logits_class, of the class token, stands for them where it is;
    // logits_dist of the distillation token, logits_second of a second class token, which learns
    // from the same labels, logits_aux [B, N, K] of every token.
    // With cosub the logits have twice the rows of the targets: image i is also image B + i. (The
    // labels or targets may be doubled as well.) Throws Error where a tensor is missing or does not
    // fit.
    LossResult operator()(const TorchTensors& outputs, const LabelTargets& targets) const;

    std::int64_t classes() const { return classes_; }
    bool is_weighted() const { return class_weights_.defined(); }
    at::Tensor weights_of(const at::Tensor& labels) const;  // [B] of their classes

    // The outputs of the model that training needs, for recording it.
    const std::vector<std::string>& taps() const { return taps_; }

private:
    at::Tensor targets_of(const LabelTargets& targets, std::int64_t rows) const;
    at::Tensor class_targets(const LabelTargets& targets, std::int64_t rows) const;
    at::Tensor of_labels(const at::Tensor& logits, const LabelTargets& targets) const;
    at::Tensor of_tokens(const at::Tensor& aux, const LabelTargets& targets,
                         std::int64_t rows) const;
    at::Tensor distillation(const at::Tensor& logits, const at::Tensor& teacher) const;
    LossResult cosub(const at::Tensor& logits, const LabelTargets& targets) const;
    std::vector<std::string> taps_of(const Graph& model, Mode mode) const;

    LossPart loss_;
    DistillPart distill_;
    std::int64_t classes_;
    at::Tensor class_weights_;  // [K]; undefined: all count the same
    std::vector<std::string> taps_;
};

// How much each class counts in the loss where the training data have more of some than of others:
// one weight per class, such that the mean over the images is 1; a class without images gets the
// weight of one with a single image. Empty for ClassWeights::none.
std::vector<double> class_weights(ClassWeights kind, const Dataset& train);

// The same from how often each class occurs.
std::vector<double> class_weights(ClassWeights kind, const std::vector<double>& counts);

}  // namespace cait
