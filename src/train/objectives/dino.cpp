#include "train/objectives/dino.h"

#include <algorithm>

#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/objectives/target.h"
#include "train/optim/schedule.h"

namespace cait {

DinoLoss::DinoLoss(const DinoPart& part, std::int64_t outputs, ProcessGroup& group,
                   at::Device device)
    : part_(part),
      group_(group),
      centre_(at::zeros({1, outputs}, at::device(device))),
      sum_(at::zeros_like(centre_)) {}

DinoLossResult DinoLoss::operator()(const at::Tensor& student, const at::Tensor& teacher,
                                    std::int64_t teacher_views, std::uint64_t epoch) {
    const std::int64_t images = teacher.size(0) / std::max<std::int64_t>(1, teacher_views);
    if (teacher_views < 1 || images < 1 || student.size(0) < 2 * images ||
        student.size(0) % images != 0)
        throw Error("[loss] dino: expected at least two views of every image");
    const std::int64_t views = student.size(0) / images;
    at::Tensor target, entropy;
    {
        const at::NoGradGuard no_gradients;
        const double temperature =
            teacher_temperature(part_.teacher_start, part_.teacher_temperature,
                                std::int64_t(part_.teacher_warmup), std::int64_t(epoch));
        const at::Tensor log_target =
            at::log_softmax((teacher - centre_.to(teacher.scalar_type())) / temperature, -1);
        target = log_target.exp();
        entropy = -(target * log_target).sum(-1).mean();
        sum_.add_(teacher.sum(0, true));
        rows_ += double(teacher.size(0));
    }
    const at::Tensor log_answer =
        at::log_softmax(student / part_.student_temperature, -1).reshape({views, images, -1});
    // Σ over all pairs of views, less the pairs of a view with itself.
    const at::Tensor targets = target.reshape({teacher_views, images, -1});
    const at::Tensor all = (targets.sum(0) * log_answer.sum(0)).sum();
    const at::Tensor same = (targets * log_answer.narrow(0, 0, teacher_views)).sum();
    const double pairs = double(teacher_views * (views - 1) * images);
    return {(same - all) / pairs, entropy};
}

void DinoLoss::update() {
    const at::NoGradGuard no_gradients;
    if (group_.world() > 1) group_.all_reduce_sum(sum_);
    const double rows = rows_ * group_.world();
    if (rows > 0) centre_.mul_(part_.centre_momentum).add_(sum_ / rows, 1 - part_.centre_momentum);
    forget();
}

void DinoLoss::forget() {
    sum_.zero_();
    rows_ = 0;
}

namespace {

constexpr const char* kCentre = "centre";

class DinoObjective : public TargetObjective {
public:
    explicit DinoObjective(const ObjectiveSetup& setup)
        : TargetObjective(setup),
          loss_(setup.recipe.dino, setup.recipe.head.outputs, setup.group, setup.device),
          freeze_last_(setup.recipe.dino.freeze_last) {}

    std::vector<std::string> taps() const override { return {projection()}; }
    Needs needs() const override { return {.every_view = true}; }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override {
        std::vector<at::Tensor> student;
        for (const TorchTensors& group : outputs) student.push_back(group.at(projection()));
        const DinoLossResult found = loss_(at::cat(student), target_projections(batch, context),
                                           batch.views[0].count, batch.epoch);
        return {.total = found.loss, .parts = {{kTeacherEntropy, found.entropy}}, .correct = {}};
    }

    // The last layer does not learn at first.
    void edit_gradients(std::span<TrainParam> params, std::uint64_t epoch) override {
        if (double(epoch) >= freeze_last_) return;
        for (TrainParam& param : params)
            if (param.prototypes) param.value.mutable_grad() = at::Tensor();
    }

    void after_step(std::span<const TrainParam> params, double target_momentum) override {
        TargetObjective::after_step(params, target_momentum);
        loss_.update();
    }
    void forget() override {
        TargetObjective::forget();
        loss_.forget();
    }

    TorchTensors average(std::span<const TrainParam> params) const override {
        return target().tensors(params);
    }
    TensorState state() const override {
        TensorState state = TargetObjective::state();
        state.emplace_back(kCentre, loss_.centre());
        return state;
    }
    void load_state(std::map<std::string, at::Tensor>& state) override {
        TargetObjective::load_state(state);
        restore({{kCentre, loss_.centre()}}, {{kCentre, take_entry(state, kCentre)}}, "loss");
    }

private:
    DinoLoss loss_;
    double freeze_last_;  // epochs
};

}  // namespace

std::unique_ptr<Objective> make_dino(const ObjectiveSetup& setup) {
    return std::make_unique<DinoObjective>(setup);
}

}  // namespace cait
