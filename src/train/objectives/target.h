// The target network: a slowly moving copy of trunk and projector, which gives what the network
// itself has to predict. DINO calls it the teacher.
#pragma once

#include "train/torch/libtorch.h"

#include <span>
#include <string>
#include <vector>

#include "train/objectives/objective.h"

namespace cait {

class TargetNetwork {
public:
    // `graph` is what it runs: the parameters that its outputs need are its own, and start as
    // copies. Drop path is not to be recorded in it.
    TargetNetwork(Graph graph, std::span<const TrainParam> params);

    // No gradients. Batch norms use the batch's statistics, as in BYOL and DINO, and keep running
    // ones of their own, which the average leaves alone.
    TorchTensors run(const at::Tensor& images, EvaluateContext context);

    // After a step: own ← momentum own + (1 - momentum) value.
    void update(std::span<const TrainParam> params, double momentum);
    // Puts the running statistics back as they were before this step's passes: it was not taken.
    void forget();

    // A model's parameters by name: the target's where it has them, else those of `params`.
    TorchTensors tensors(std::span<const TrainParam> params) const;
    // Of the batch norms; shared, not copied.
    std::vector<at::Tensor> statistics() const;

    TensorState state() const;  // "target.NAME"; shared, not copied
    // Takes these out of the state.
    void load_state(std::map<std::string, at::Tensor>& state);

private:
    struct Own {
        std::string name;
        at::Tensor value;
        bool statistic = false;
        at::Tensor before;  // of a statistic: before the passes of this step
    };

    TorchExecutor executor_;
    std::vector<Own> own_;
    TorchTensors by_name_;
    std::shared_ptr<CpuMemory> memory_ = std::make_shared<CpuMemory>();
    std::uint64_t version_ = 0;  // of the values, for the packed weights
};

// An objective whose network learns from the target network's projections.
class TargetObjective : public Objective {
public:
    explicit TargetObjective(const ObjectiveSetup& setup);

    void start(const Graph& network, std::span<const TrainParam> params) override;
    void after_step(std::span<const TrainParam> params, double target_momentum) override;
    void forget() override { target_->forget(); }
    std::vector<at::Tensor> statistics() const override { return target_->statistics(); }
    TensorState state() const override { return target_->state(); }
    void load_state(std::map<std::string, at::Tensor>& state) override;

protected:
    const std::string& projection() const { return projection_; }  // the name of the output
    const TargetNetwork& target() const { return *target_; }
    // What the target network says of the first views.
    at::Tensor target_projections(const ObjectiveBatch& batch, const EvaluateContext& context);

private:
    std::string projection_;
    Graph graph_;  // of the target network, until it is made
    std::unique_ptr<TargetNetwork> target_;
};

}  // namespace cait
