// What a run writes to go on from and to be used: the state, and model files.
#pragma once

#include "cait/model.h"
#include "train/run/run_folder.h"
#include "train/run/run_state.h"
#include "train/training_step.h"

namespace cait {

class CheckpointWriter {
public:
    CheckpointWriter(const RunFolder& folder, const Recipe& recipe, const Model& model);

    // The state, the latest weights and their average; at the end of an epoch also the files of
    // both that are kept for good, where they are due. Throws Error, and writes nothing, when a
    // weight is not finite.
    void save(const TrainingStep& step, RunState& state, std::uint64_t steps_per_epoch) const;

    // For a run that is over: writes the model files again where it was killed between its state
    // and them. Without scores, which its metrics have.
    void complete(const TrainingStep& step, const RunState& state,
                  std::uint64_t steps_per_epoch) const;

    void save_best(const TorchTensors& weights, const RunState& state,
                   std::uint64_t steps_per_epoch) const;

    // What is known of the weights that are saved next, for their model files.
    using Facts = std::map<std::string, std::string>;
    void set_scores(Facts of_weights, Facts of_ema);
    // The mean of these epochs' weights, in place of an average that the step keeps.
    void set_average(TorchTensors mean, const EpochRange& epochs);

private:
    // The latest weights and their average, and the files of an epoch that are due.
    void save_models(const TrainingStep& step, const TorchTensors& weights, const RunState& state,
                     std::uint64_t steps_per_epoch) const;
    void save_model(const FilePlace& file, const TorchTensors& weights, const RunState& state,
                    std::uint64_t steps_per_epoch, const Facts& scores) const;
    Facts average_facts() const;

    const RunFolder& folder_;
    const Recipe& recipe_;
    Model model_;  // as it is saved: with the head that the recipe keeps
    Facts scores_, ema_scores_;
    TorchTensors mean_;
    std::string mean_of_;  // which epochs, in words
};

}  // namespace cait
