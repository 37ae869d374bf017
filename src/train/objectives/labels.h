// Learning from labels: those of the data, mixed or of every token, and those of a teacher.
#pragma once

#include <functional>
#include <memory>

#include "train/objectives/label_loss.h"
#include "train/objectives/teacher.h"

namespace cait {

class LabelObjective : public Objective {
public:
    explicit LabelObjective(const ObjectiveSetup& setup);

    std::vector<std::string> taps() const override { return loss_.taps(); }
    Needs needs() const override { return {.passes = part_.cosub ? 2 : 1}; }
    std::vector<std::string> notes() const override;
    std::string teacher() const override;
    void start(const Graph& network, std::span<const TrainParam> params) override;
    void before_batch(const ObjectiveBatch& whole) override;
    void before_pass(EvaluateContext& context) override;
    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override;
    std::string first_bad(const ObjectiveBatch& batch) override;

    // What somebody else has drawn, for comparing with his numbers: the box of a step's MixToken,
    // and token labels of the whole batch. Empty functions: its own.
    struct Given {
        std::function<GridBox(std::uint64_t step)> token_box = {};
        std::function<MapTargets()> token_labels = {};
    };
    void take(Given given) { given_ = std::move(given); }

private:
    void label_tokens(const ObjectiveBatch& batch, LabelTargets& targets);
    bool teacher_names_classes() const;  // of images, and not of tokens

    LossPart part_;
    Distillation distillation_;
    double mix_tokens_;
    std::optional<LabelMapSize> maps_;
    at::Device device_;
    ProcessGroup& group_;
    LabelLoss loss_;
    std::unique_ptr<Teacher> teacher_;  // null without one
    Grid grid_;                         // of the network's tokens
    double mean_weight_ = 0;            // of the batch's labels in all processes, by their classes
    Given given_;
};

}  // namespace cait
