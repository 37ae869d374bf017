#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/objectives/objective.h"

namespace cait {

at::Tensor triplet_loss(const at::Tensor& vectors, std::int64_t views, double margin) {
    if (views < 2) throw Error("[loss] triplet: expected at least two views of an image");
    const std::int64_t rows = vectors.size(0), images = rows / views;
    const at::Tensor unit = unit_rows(vectors);
    const at::Tensor distances = 2 - 2 * at::matmul(unit, unit.t());  // [rows, rows]
    const at::Tensor image =
        at::arange(rows, at::device(vectors.device()).dtype(at::kLong)).remainder(images);
    const at::Tensor others = image.unsqueeze(1).ne(image.unsqueeze(0));
    at::Tensor sum = at::zeros({}, vectors.options());
    at::Tensor active = at::zeros({}, vectors.options());
    for (std::int64_t shift = 1; shift < views; ++shift) {
        // Anchor r with view r + shift of its image.
        const at::Tensor positive =
            (2 - 2 * (unit * unit.roll(-shift * images, 0)).sum(1, true));  // [rows, 1]
        const at::Tensor hinge =
            at::where(others, margin + positive - distances, at::zeros({}, vectors.options()))
                .clamp_min(0);
        sum = sum + hinge.sum();
        active = active + hinge.detach().gt(0).sum();
    }
    return sum / active.clamp_min(1);
}

namespace {

class TripletObjective : public Objective {
public:
    explicit TripletObjective(const Recipe& recipe)
        : projection_(projection_tap(recipe)), margin_(recipe.loss.margin) {}

    std::vector<std::string> taps() const override { return {projection_}; }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& /*context*/) override {
        const at::Tensor total =
            triplet_loss(outputs[0].at(projection_), batch.views[0].count, margin_);
        return {.total = total, .parts = {{"triplet", total.detach()}}, .correct = {}};
    }

private:
    std::string projection_;
    double margin_;
};

}  // namespace

std::unique_ptr<Objective> make_triplet(const ObjectiveSetup& setup) {
    return std::make_unique<TripletObjective>(setup.recipe);
}

}  // namespace cait
