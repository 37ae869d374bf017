#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/objectives/objective.h"
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

class InstanceObjective : public Objective {
public:
    explicit InstanceObjective(const ObjectiveSetup& setup)
        : projection_(projection_tap(setup.recipe)),
          prediction_(setup.recipe.head.predictor > 0 ? "prediction" : projection_),
          graph_(target_graph(setup.model.spec(), projection_)) {}

    std::vector<std::string> taps() const override { return {projection_, prediction_}; }

    void start(const Graph& /*network*/, std::span<const TrainParam> params) override {
        target_ = std::make_unique<TargetNetwork>(std::move(graph_), params);
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override {
        const ObjectiveBatch::Views& views = batch.views[0];
        const at::Tensor targets = target_->run(views.pixels, context).at(projection_);
        const at::Tensor total = instance_loss(outputs[0].at(prediction_), targets, views.count);
        return {.total = total, .parts = {{"instance", total.detach()}}, .correct = {}};
    }

    void after_step(std::span<const TrainParam> params, double target_momentum) override {
        target_->update(params, target_momentum);
    }
    void forget() override { target_->forget(); }
    std::vector<at::Tensor> statistics() const override { return target_->statistics(); }
    TensorState state() const override { return target_->state(); }
    void load_state(std::map<std::string, at::Tensor>& state) override {
        target_->load_state(state);
    }

private:
    std::string projection_, prediction_;  // outputs
    Graph graph_;                          // of the target network, until it is made
    std::unique_ptr<TargetNetwork> target_;
};

}  // namespace

std::unique_ptr<Objective> make_instance(const ObjectiveSetup& setup) {
    return std::make_unique<InstanceObjective>(setup);
}

}  // namespace cait
