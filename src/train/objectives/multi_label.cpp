// Several right classes per image: a yes or no for each class.
#include <fmt/format.h>

#include "cait/error.h"
#include "data/targets/labels.h"
#include "models/catalogue.h"
#include "train/objectives/objective.h"

namespace cait {

namespace {

class MultiLabelObjective : public Objective {
public:
    explicit MultiLabelObjective(const ObjectiveSetup& setup)
        : classes_(setup.model.spec().architecture->common().classes) {}

    std::vector<std::string> taps() const override { return {"logits"}; }

    // Binary cross-entropy, mean over images and classes, as PyTorch's BCEWithLogitsLoss.
    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& /*context*/) override {
        const at::Tensor logits =
            outputs[0].at("logits").narrow(0, 0, batch.size()).to(at::kFloat);  // of the first view
        const at::Tensor targets = batch.target(kLabelSets);
        if (!targets.defined() || targets.sizes() != logits.sizes())
            throw Error(fmt::format("[loss] multi_label: expected targets [{}, {}]", logits.size(0),
                                    classes_));
        const at::Tensor total =
            at::binary_cross_entropy_with_logits(logits, targets.to(logits.device()));
        return {.total = total, .parts = {{"multi_label", total.detach()}}, .correct = {}};
    }

private:
    std::int64_t classes_;
};

}  // namespace

std::unique_ptr<Objective> make_multi_label(const ObjectiveSetup& setup) {
    return std::make_unique<MultiLabelObjective>(setup);
}

}  // namespace cait
