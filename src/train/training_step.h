// One optimiser step: forward, loss, backward, clip, update, average. A step whose loss or
// gradients are not finite is not taken.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "data/batch.h"
#include "data/targets/label.h"
#include "train/distributed/gradient_sync.h"
#include "train/distributed/process_group.h"
#include "train/label_maps.h"
#include "train/losses.h"
#include "train/optim/ema.h"
#include "train/optim/optimizer.h"
#include "train/parameters.h"
#include "train/recipe/recipe.h"
#include "train/teacher.h"
#include "train/torch/executor.h"
#include "train/views/view_learning.h"

namespace cait {

struct StepResult {
    double loss = 0;     // mean over the images of all processes
    double correct = 0;  // images of all processes whose label has the highest logit
    double images = 0;
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
    // set_parts() is called. `class_weights` as Loss takes them.
    TrainingStep(const Recipe& recipe, const Model& model, ProcessGroup& group,
                 const std::vector<double>& class_weights = {});

    StepResult run(Batch& batch, std::uint64_t step, double lr);

    // Of the steps that follow.
    void set_weight_decay(double decay) { optimizer_->set_weight_decay(decay); }
    void set_target_momentum(double momentum) { target_momentum_ = momentum; }
    void set_parts(std::int64_t parts) { parts_ = parts; }
    // The views of every batch, without pixels: what rehearse() tries.
    void expect_views(std::vector<ViewGroup> views) { expected_views_ = std::move(views); }
    std::int64_t view_bytes() const;  // of all views of an image
    // Forward and backward with empty images, to see how much memory that takes; changes nothing.
    void rehearse(std::int64_t images);

    const Teacher* teacher() const { return teacher_.get(); }  // null without one
    ViewLearning* views() { return views_.get(); }             // null where labels alone teach
    Grid token_grid() const { return executor_.graph().patch_grid; }
    // From here on batches carry the label maps of their images (kLabelMaps).
    void use_label_maps(const LabelMapSize& size) { maps_ = size; }
    // What somebody else has drawn, for comparing with his numbers: the box of a step's MixToken,
    // and token labels of the whole batch. Empty functions: the step's own.
    struct Given {
        std::function<GridBox(std::uint64_t step)> token_box = {};
        std::function<MapTargets()> token_labels = {};
    };
    void take(Given given) { given_ = std::move(given); }

    // Everything by name, as the state of a run keeps it; shares memory with the originals. All
    // processes call gather_state() first: one alone does not have everything.
    void gather_state();
    std::map<std::string, Tensor> state() const;
    // Throws Error that says what differs when the tensors are another model's.
    void load_state(const std::map<std::string, Tensor>& tensors, const std::string& path);

    TorchTensors weights() const;  // by official name, statistics included
    // Empty when there is no average. DINO's teacher is one.
    TorchTensors ema_weights() const;
    // Before weights are saved or evaluated: every process has seen other batches.
    void average_statistics();

private:
    struct Part;
    EvaluateContext context_of(const Part& part, std::uint64_t step) const;
    at::Tensor images_of(const Part& part) const;
    LossResult forward(const Part& part, std::uint64_t step);
    void label_tokens(const Part& part, LossInput& input);
    // Where the numbers of a part went wrong whose loss is not finite.
    std::string find_bad(const Part& part, std::uint64_t step);
    std::vector<ViewPart::Group> groups_of(const Batch& batch) const;
    // Adds what the parts of a loss are in this process.
    static void add_parts(const LossResult& loss, double share, StepResult& result);
    void average_parts(StepResult& result);
    // Loss and hits of this process's batch, with the gradients in the parameters.
    at::Tensor gradients(Batch& batch, std::uint64_t step, StepResult& result);
    // What all processes take for the reason of a loss that is not finite.
    std::string agreed_reason(const std::string& mine);

    Recipe recipe_;
    ProcessGroup& group_;
    at::Device device_;
    std::vector<TrainParam> params_;
    TorchTensors by_name_;
    std::vector<at::Tensor> statistics_;
    Loss loss_;
    TorchExecutor executor_;
    std::shared_ptr<CpuMemory> memory_ = std::make_shared<CpuMemory>();
    std::uint64_t weights_version_ = 0;
    std::int64_t parts_ = 1;
    ImageSize size_;
    std::unique_ptr<Optimizer> optimizer_;
    std::unique_ptr<Ema> ema_;
    std::unique_ptr<Teacher> teacher_;
    std::unique_ptr<ViewLearning> views_;
    TensorState views_state_;  // what gather_state() found
    std::vector<ViewGroup> expected_views_;
    double target_momentum_ = 1;
    std::optional<LabelMapSize> maps_;
    Given given_;
    std::unique_ptr<GradientSync> sync_;
};

}  // namespace cait
