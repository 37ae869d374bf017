#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/objectives/target.h"

namespace cait {

at::Tensor instance_loss(const at::Tensor& predictions, const at::Tensor& targets,
                         std::int64_t views) {
    if (views < 2) throw Error("[loss] instance: expected at least two views of an image");
    const std::int64_t images = predictions.size(0) / views;
    const at::Tensor p = unit_rows(predictions).reshape({views, images, -1});
    const at::Tensor z = unit_rows(targets.detach()).reshape({views, images, -1});
    // Of all pairs of views, those of a view with itself do not count.
    const at::Tensor all = (p.sum(0) * z.sum(0)).sum(), same = (p * z).sum();
    return (same - all) / double(views * (views - 1) * images);
}

namespace {

class InstanceObjective : public TargetObjective {
public:
    explicit InstanceObjective(const ObjectiveSetup& setup)
        : TargetObjective(setup),
          prediction_(setup.recipe.head.predictor > 0 ? "prediction" : projection()) {}

    std::vector<std::string> taps() const override { return {projection(), prediction_}; }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override {
        const at::Tensor total = instance_loss(
            outputs[0].at(prediction_), target_projections(batch, context), batch.views[0].count);
        return {.total = total, .parts = {{"instance", total.detach()}}, .correct = {}};
    }

private:
    std::string prediction_;  // the name of the output
};

}  // namespace

std::unique_ptr<Objective> make_instance(const ObjectiveSetup& setup) {
    return std::make_unique<InstanceObjective>(setup);
}

}  // namespace cait
