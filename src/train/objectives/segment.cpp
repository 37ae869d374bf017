#include "train/objectives/segment.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "data/targets/label_image.h"
#include "models/catalogue.h"
#include "train/objectives/objective.h"

namespace cait {

namespace {

constexpr const char* kPixelLogits = "segmentation";
constexpr const char* kSecondLogits = "segmentation_auxiliary";

class SegmentObjective : public Objective {
public:
    explicit SegmentObjective(const ObjectiveSetup& setup)
        : part_(setup.recipe.loss),
          synced_(setup.recipe.train.sync_batch_norms),
          group_(setup.group) {
        const HeadConfig& head = setup.model.spec().head;
        second_ = setup.mode == Mode::train && head.kind == HeadKind::upernet &&
                  head.dense.auxiliary >= 0 && part_.auxiliary_weight > 0;
        if (!setup.data.class_weights.empty())
            class_weights_ = at::tensor(setup.data.class_weights, at::kFloat).to(setup.device);
    }

    std::vector<std::string> taps() const override {
        std::vector<std::string> taps{kPixelLogits};
        if (second_) taps.emplace_back(kSecondLogits);
        return taps;
    }

    Needs needs() const override { return {.shared_batch_norms = synced_, .logs_parts = true}; }

    // A batch in parts or in several processes has the loss of the whole.
    void before_batch(const ObjectiveBatch& whole) override {
        if (part_.pixel_mean == PixelMean::all) return;
        at::Tensor sums = at::tensor(
            {labelled_share(whole.target(kLabelImages), class_weights_), 1.0}, at::kDouble);
        if (group_.world() > 1) group_.all_reduce_sum(sums);
        share_ = sums[0].item<double>() / sums[1].item<double>();
        if (share_ == 0) share_ = 1;  // nothing is labelled: the sum is 0, too
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& /*context*/) override {
        const at::Tensor labels = batch.target(kLabelImages);
        const auto term = [&](const char* tap) {
            return pixel_cross_entropy(outputs[0].at(tap), labels, class_weights_) / share_;
        };
        LossResult result;
        result.total = term(kPixelLogits);
        result.parts["segment"] = result.total.detach();
        if (second_) {
            const at::Tensor second = term(kSecondLogits);
            result.parts["auxiliary"] = second.detach();
            result.total = result.total + part_.auxiliary_weight * second;
        }
        return result;
    }

private:
    LossPart part_;
    bool synced_, second_ = false;
    ProcessGroup& group_;
    at::Tensor class_weights_;
    double share_ = 1;  // that the sum is divided by, of the whole batch
};

}  // namespace

at::Tensor pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                               const at::Tensor& class_weights) {
    if (!labels.defined() || labels.dim() != 3 || logits.dim() != 4 ||
        labels.size(0) != logits.size(0))
        throw Error(
            fmt::format("[loss] segment: expected {} label images [B, H, W]", logits.size(0)));
    const at::Tensor enlarged = at::upsample_bilinear2d(
        logits.to(at::kFloat), {labels.size(1), labels.size(2)}, /*align_corners=*/false);
    const at::Tensor sum =
        at::cross_entropy_loss(enlarged, labels.to(logits.device(), at::kLong), class_weights,
                               at::Reduction::Sum, /*ignore_index=*/kIgnored);
    return sum / double(labels.numel());
}

double labelled_share(const at::Tensor& labels, const at::Tensor& class_weights) {
    const at::Tensor labelled = labels.masked_select(labels != std::int64_t(kIgnored));
    const double weight =
        class_weights.defined()
            ? class_weights.index_select(0, labelled.to(at::kLong)).sum().item<double>()
            : double(labelled.numel());
    return weight / double(labels.numel());
}

std::unique_ptr<Objective> make_segment(const ObjectiveSetup& setup) {
    return std::make_unique<SegmentObjective>(setup);
}

}  // namespace cait
