// What a step does where features are learned beyond labels: all views of equal size go through the
// network in one pass, the target network sees the first group of them, and the recipe's terms make
// the loss. What target, memory and centre learn from a step waits until it is taken.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sampler.h"
#include "models/catalogue.h"
#include "train/losses.h"
#include "train/views/dino_loss.h"
#include "train/views/memory.h"
#include "train/views/target.h"
#include "train/views/view_graphs.h"

namespace cait {

// Images of a batch that go through the network together.
struct ViewPart {
    struct Group {
        at::Tensor pixels;  // [count * n, C, H, W], view-major
        std::int64_t count = 1;
    };
    std::vector<Group> groups;  // the first has the views that target and labels see
    at::Tensor labels;          // [n]
    std::span<const SampleKey> keys;
    std::uint64_t epoch = 0;
};

class ViewLearning {
public:
    // `student` is the network at its own image size, recorded with taps(); it and the group
    // outlive this object. `params` are its parameters as they start.
    ViewLearning(const Recipe& recipe, const ModelSpec& model, const TorchExecutor& student,
                 std::span<const TrainParam> params, ProcessGroup& group, at::Device device);

    // What the network has to give, beside `of_labels` where its classifier learns.
    static std::vector<std::string> taps(const Recipe& recipe,
                                         const std::vector<std::string>& of_labels);

    // The labels of all training images, for a loss that remembers them.
    void remember(std::vector<std::int64_t> labels);

    // `parts` of the result also has what is watched. Called by all processes.
    LossResult forward(const ViewPart& part, const TorchTensors& weights,
                       const EvaluateContext& context, const Loss& labels);

    // After a step that was taken, or was not. Called by all processes.
    void update(std::span<const TrainParam> params, double target_momentum);
    void forget();

    const TargetNetwork* target() const { return target_.get(); }  // null where there is none
    // Why these figures of a step mean a collapse; empty: they do not.
    std::string collapse(const std::map<std::string, double>& watched) const;

    // "target.NAME", "memory", "centre"; shared where that is possible. Called by all processes.
    TensorState state() const;
    // Throws Error where the state is that of another loss.
    void load_state(const std::map<std::string, at::Tensor>& state);
    bool keeps(std::string_view name) const;  // whether state() has it

private:
    TorchTensors run(const at::Tensor& pixels, const TorchTensors& weights,
                     const EvaluateContext& context);
    at::Tensor instance_term(const ViewPart& part, const TorchTensors& outputs,
                             const EvaluateContext& context);
    void knn_term(const ViewPart& part, const at::Tensor& projection, LossResult& result);
    void dino_term(const ViewPart& part, const TorchTensors& outputs, const TorchTensors& weights,
                   const EvaluateContext& context, LossResult& result);

    Recipe recipe_;
    ModelSpec model_;
    const TorchExecutor& student_;
    ProcessGroup& group_;
    at::Device device_;
    std::string projection_, prediction_;            // names of outputs
    std::vector<ViewTransform::Group> other_sizes_;  // than the model's, of views so far
    std::optional<ViewGraphs> graphs_;               // for these
    std::unique_ptr<TargetNetwork> target_;
    std::unique_ptr<FeatureMemory> memory_;
    std::unique_ptr<DinoLoss> dino_;
    std::int64_t width_ = 0;  // of the features whose spread is watched
};

}  // namespace cait
