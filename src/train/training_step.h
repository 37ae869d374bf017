// One optimiser step: forward, loss, backward, clip, update, average. A step whose loss or
// gradients are not finite is not taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cait/model.h"
#include "data/batch.h"
#include "data/targets/label.h"
#include "train/distributed/gradient_sync.h"
#include "train/distributed/process_group.h"
#include "train/objectives/objective.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"
#include "train/parameters.h"
#include "train/recipe/recipe.h"
#include "train/torch/executor.h"
#include "train/view_graphs.h"

namespace cait {

struct StepResult {
    double loss = 0;     // mean over the images of all processes, or over the pieces of sentences
    double correct = 0;  // images of all processes whose label has the highest logit
    double images = 0;   // of all processes, or pieces
    double gradient_norm = 0;             // over all parameters and parts, before clipping
    std::map<std::string, double> parts;  // of the loss, and what is watched, by name
    std::string first_bad;  // what is not finite, in words; empty when the step was taken
    double forward_seconds = 0;
    double backward_seconds = 0;
    double optimizer_seconds = 0;
};

class TrainingStep {
public:
    // A recipe that leaves optim.accumulate to the machine runs every batch in one part until
    // set_parts() is called.
    TrainingStep(const Recipe& recipe, const Model& model, ProcessGroup& group,
                 const DataFacts& data = {});

    StepResult run(Batch& batch, std::uint64_t step, double lr);

    // Of the steps that follow.
    void set_weight_decay(double decay) { optimizer_->set_weight_decay(decay); }
    void set_target_momentum(double momentum) { target_momentum_ = momentum; }
    void set_parts(std::int64_t parts) { parts_ = parts; }
    std::int64_t sample_bytes() const;  // of all views of an image, or of a pair of sentences
    // Forward and backward with empty images, or sentences of the longest batch, to see how much
    // memory that takes; changes nothing.
    void rehearse(std::int64_t samples);

    Objective& objective() { return *objective_; }
    Grid token_grid() const { return network_->own().graph().patch_grid; }

    // Everything by name, as the state of a run keeps it; shares memory with the originals. All
    // processes call gather_state() first: one alone does not have everything.
    void gather_state();
    std::map<std::string, Tensor> state() const;
    // Throws Error that says what differs when the tensors are another model's.
    void load_state(const std::map<std::string, Tensor>& tensors, const std::string& path);

    TorchTensors weights() const;  // by official name, statistics included
    // Empty when there is no average: of train.ema, or of the objective.
    TorchTensors ema_weights() const;
    // Before weights are saved or evaluated: every process has seen other batches.
    void average_statistics();

private:
    struct Part;
    EvaluateContext context_of(const Part& part, std::uint64_t step) const;
    // A group of views as the network takes it.
    NamedInputs<at::Tensor> inputs_of(const ObjectiveBatch::Views& views) const;
    // What the network takes of a part: one entry for each group of views, or the sentences.
    std::vector<NamedInputs<at::Tensor>> inputs_of(const ObjectiveBatch& batch) const;
    ObjectiveBatch empty_batch(std::int64_t samples);
    LossResult forward(const Part& part, std::uint64_t step);
    // Where the numbers of a part went wrong whose loss is not finite.
    std::string find_bad(const Part& part, std::uint64_t step);
    // What a batch has, whole.
    ObjectiveBatch tensors_of(Batch& batch) const;
    // Leaves out what of its images nobody has to see.
    void cut(ObjectiveBatch& whole) const;
    void average_parts(StepResult& result);
    // Loss and hits of this process's batch, with the gradients in the parameters.
    at::Tensor gradients(Batch& batch, std::uint64_t step, StepResult& result);
    // What all processes take for the reason of a loss that is not finite.
    std::string agreed_reason(const std::string& mine);

    Recipe recipe_;
    ProcessGroup& group_;
    at::Device device_;
    std::unique_ptr<Objective> objective_;
    Objective::Needs needs_;
    std::unique_ptr<ViewGraphs> network_;
    std::vector<TrainParam> params_;
    TorchTensors by_name_;
    std::vector<at::Tensor> statistics_;
    bool takes_any_size_;  // no parameter depends on the size of the images
    std::shared_ptr<CpuMemory> memory_ = std::make_shared<CpuMemory>();
    std::uint64_t weights_version_ = 0;
    std::int64_t parts_ = 1;
    std::int64_t channels_;
    std::vector<ViewGroup> views_;     // of every batch, without pixels; none of sentences
    std::optional<TextSize> longest_;  // sentences
    TargetList targets_;               // of every batch
    std::unique_ptr<Optimizer> optimizer_;
    std::unique_ptr<Ema> ema_;
    TensorState objective_state_;  // what gather_state() found
    double target_momentum_ = 1;
    std::unique_ptr<GradientSync> sync_;
};

}  // namespace cait
