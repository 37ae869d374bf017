#include "train/run/checkpoint.h"

#include <fmt/format.h>

#include "cait/scores.h"
#include "models/catalogue.h"
#include "models/file_facts.h"
#include "train/bad_tensor.h"
#include "train/diverged.h"
#include "train/recipe/recipe_file.h"
#include "train/torch/convert.h"
#include "weights/checksum.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

// "flowers" for runs/flowers and runs/flowers/.
std::string name_of_run(const std::filesystem::path& folder) {
    const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// A run's state has everything; of the heads, a model file has the projector where it is asked for.
Model saved_model(const Recipe& recipe, const Model& model) {
    if (!model.spec().head.any()) return model;
    HeadConfig head = model.spec().head;
    head.predictor = 0;
    if (!recipe.save.head) head.kind = HeadKind::none;
    Settings keys;
    bind(keys, head);
    return model.with_head(keys.values());
}

// Whether a model file is there and was saved with a state of this step.
bool is_of_step(const FilePlace& file, std::uint64_t step) {
    if (!file.exists()) return false;
    const FileFacts facts = read_facts(TensorFile::open(file).metadata, file.string());
    const auto found = facts.training.find("steps");
    return found != facts.training.end() && found->second == std::to_string(step);
}

}  // namespace

CheckpointWriter::CheckpointWriter(const RunFolder& folder, const Recipe& recipe,
                                   const Model& model)
    : folder_(folder), recipe_(recipe), model_(saved_model(recipe, model)) {}

// The state first: it is what a run goes on from, and holds all that the others hold.
void CheckpointWriter::save(const TrainingStep& step, RunState& state,
                            std::uint64_t steps_per_epoch) const {
    const TorchTensors weights = step.weights();
    for (const auto& [name, tensor] : weights)
        if (!is_finite(tensor))
            throw DivergedError(
                fmt::format("{} is not finite at step {}: nothing was saved, the last good "
                            "checkpoint is intact",
                            name, state.step));
    state.tensors = step.state();
    save_state(folder_.state(), state);
    state.tensors.clear();
    save_models(step, weights, state, steps_per_epoch);
}

void CheckpointWriter::complete(const TrainingStep& step, const RunState& state,
                                std::uint64_t steps_per_epoch) const {
    if (!is_of_step(folder_.last(), state.step))
        save_models(step, step.weights(), state, steps_per_epoch);
}

void CheckpointWriter::save_models(const TrainingStep& step, const TorchTensors& weights,
                                   const RunState& state, std::uint64_t steps_per_epoch) const {
    save_model(folder_.last(), weights, state, steps_per_epoch, scores_);
    const bool epoch_is_over = state.position.batch == 0;
    // A mean of epochs stays what it is until the next one ends.
    const TorchTensors average = mean_.empty() ? step.ema_weights() : mean_;
    const bool is_new = mean_.empty() || epoch_is_over;
    if (!average.empty() && is_new)
        save_model(folder_.last_ema(), average, state, steps_per_epoch, average_facts());
    const auto every = std::uint64_t(recipe_.save.keep_every);
    if (!epoch_is_over || every == 0 || state.position.epoch % every != 0) return;
    const std::uint64_t epoch = state.position.epoch;
    save_model(folder_.epoch(epoch), weights, state, steps_per_epoch, scores_);
    if (!average.empty())
        save_model(folder_.epoch_ema(epoch), average, state, steps_per_epoch, average_facts());
}

CheckpointWriter::Facts CheckpointWriter::average_facts() const {
    Facts facts = ema_scores_;
    if (!mean_of_.empty()) facts["mean_of"] = mean_of_;
    return facts;
}

void CheckpointWriter::save_best(const TorchTensors& weights, const RunState& state,
                                 std::uint64_t steps_per_epoch) const {
    Facts facts = is_of_average(recipe_.save.best) ? average_facts() : scores_;
    facts["chosen_by"] = recipe_.save.best;
    save_model(folder_.best(), weights, state, steps_per_epoch, facts);
}

void CheckpointWriter::set_scores(Facts of_weights, Facts of_ema) {
    scores_ = std::move(of_weights);
    ema_scores_ = std::move(of_ema);
}

void CheckpointWriter::set_average(TorchTensors mean, const EpochRange& epochs) {
    mean_ = std::move(mean);
    mean_of_ = epochs.text();
}

void CheckpointWriter::save_model(const FilePlace& file, const TorchTensors& weights,
                                  const RunState& state, std::uint64_t steps_per_epoch,
                                  const Facts& scores) const {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : weights)
        if (model_.weights().contains(name)) tensors.emplace(name, share_torch(tensor));
    const double epochs = double(state.step) / double(steps_per_epoch);
    Model model = model_.with_weights(std::move(tensors));
    model.set_name(name_of_run(folder_.path()));
    Facts facts = scores;
    facts.insert({{"recipe", recipe_text(recipe_)},
                  {"epochs", fmt::format("{:.2f}", epochs)},
                  {"steps", std::to_string(state.step)},
                  {"data", recipe_.data.train}});
    model.set_training(std::move(facts));
    write_sealed(file, model.weights(), model.metadata());
}

}  // namespace cait
