// What training minimises: the loss on labels, a teacher's part in it (distillation), the agreement
// of two passes (cosub), and token labels. Computed in float32 whatever the model computes in.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <string>
#include <vector>

#include "models/catalogue.h"
#include "train/recipe/recipe.h"
#include "train/torch/executor.h"

namespace cait {

// Undefined where there is none. B images, K classes, N tokens.
struct LossInput {
    at::Tensor logits;         // [B, K]
    at::Tensor logits_class;   // [B, K] of the class token; stands for `logits` where defined
    at::Tensor logits_dist;    // [B, K] of the distillation token
    at::Tensor logits_second;  // [B, K] of a second class token, which learns from the same labels
    at::Tensor logits_aux;     // [B, N, K] of every token
    at::Tensor labels;         // [B] int64
    at::Tensor targets;        // [B, K] mixed or smoothed already; stands for `labels`
    at::Tensor token_targets;  // [B, N, K]; without them each token has the image's target
    at::Tensor map_targets;    // [B, K] what whoever labels the tokens says of the whole image
    at::Tensor teacher;        // [B, K] logits
    // MixToken: the image at the other end of the batch has this share of what the class head sees
    // of an image. Tokens are back in their own images.
    double exchanged = 0;

    // The logits among a model's named outputs.
    void take(const TorchTensors& outputs);
};

struct LossResult {
    at::Tensor total;                         // a scalar that backward() starts from
    std::map<std::string, at::Tensor> parts;  // detached scalars, for the records
    at::Tensor correct;  // images whose label (or largest target) has the highest class logit
};

class Loss {
public:
    // Throws UsageError for settings that contradict each other, or when the model has no head for
    // the loss.
    // `class_weights`: one per class, for cross-entropy, by which an image's term is multiplied
    // before the mean over the images; empty: all count the same. With
    // Mode::infer the model's joint logits are what labels are compared with, as at evaluation.
    Loss(const LossPart& loss, const DistillPart& distill, const ModelSpec& model,
         const std::vector<double>& class_weights = {}, Mode mode = Mode::train);

    // With cosub the logits have twice the rows of the targets: image i is also image B + i. (The
    // labels or targets may be doubled as well.) Throws Error where a tensor is missing or does not
    // fit.
    LossResult operator()(const LossInput& input) const;

    std::int64_t classes() const { return classes_; }

    // The outputs of the model that training needs, for recording it.
    const std::vector<std::string>& taps() const { return taps_; }

private:
    at::Tensor targets_of(const LossInput& input, std::int64_t rows) const;
    at::Tensor class_targets(const LossInput& input, std::int64_t rows) const;
    at::Tensor label_loss(const at::Tensor& logits, const LossInput& input) const;
    at::Tensor weights_for(const at::Tensor& logits) const;
    at::Tensor token_loss(const LossInput& input, std::int64_t rows) const;
    at::Tensor distillation(const at::Tensor& logits, const at::Tensor& teacher) const;
    LossResult cosub(const at::Tensor& logits, const LossInput& input) const;
    std::vector<std::string> taps_of(const Graph& model, Mode mode) const;

    LossPart loss_;
    DistillPart distill_;
    std::int64_t classes_;
    at::Tensor class_weights_;  // [K]; undefined: all count the same
    std::vector<std::string> taps_;
};

}  // namespace cait
