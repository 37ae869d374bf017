#include "train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "core/isa.h"
#include "models/catalogue.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_keys.h"
#include "torch/runtime.h"
#include "train/evaluate_model.h"
#include "train/evaluation_loader.h"
#include "train/optim/schedule.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/run/run_records.h"
#include "train/training_data.h"
#include "train/training_model.h"
#include "train/training_step.h"

namespace cait {

namespace {

constexpr std::uint64_t kMostSkippedInARow = 3;

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

Scores scores_of(const Metrics& metrics) {
    return {metrics.top1(), metrics.top5(), metrics.loss(), metrics.ece()};
}

class TrainingRun {
public:
    TrainingRun(const Recipe& recipe, const TrainOptions& options, ProcessGroup& group);
    TrainOutcome run();

private:
    void resume(const RunState& saved);
    void take_step(Batch& batch, double data_seconds);
    void record_step(double lr);
    void end_epoch();
    Metrics evaluate(const TorchTensors& weights);
    void save();
    bool improves(const Metrics& metrics, const std::optional<Metrics>& ema);
    int agreed_stop();
    void note(const std::string& text);

    const Recipe& recipe_;
    const TrainOptions& options_;
    ProcessGroup& group_;
    std::optional<RunFolder> folder_;  // of the first process
    std::optional<RunRecords> records_;
    RunState state_;
    TrainingData data_;
    std::optional<Model> model_;
    std::optional<CheckpointWriter> checkpoints_;  // of the first process
    std::unique_ptr<TrainingStep> step_;
    std::unique_ptr<Loader> loader_;
    LoaderPlace place_;
    ImageSize size_;
    std::uint64_t steps_per_epoch_ = 0, epochs_ = 0, record_every_ = 1;
    double base_lr_ = 0;
    EpochTotals recorded_;          // the part of the epoch's totals that is in the log
    std::optional<Metrics> shown_;  // the evaluation that the report shows
    double run_seconds_ = 0;        // of this process, for the time left
    std::uint64_t run_steps_ = 0;
};

TrainingRun::TrainingRun(const Recipe& recipe, const TrainOptions& options, ProcessGroup& group)
    : recipe_(recipe), options_(options), group_(group) {
    if (group_.is_main())
        folder_.emplace(options.resume ? RunFolder::open(options.folder)
                                       : RunFolder::create(options.folder, recipe));
    group_.barrier();  // the recipe is there, or the run has ended
    const std::filesystem::path state_file = options.folder / "state.safetensors";
    const bool resuming = options.resume && std::filesystem::exists(state_file);
    std::optional<RunState> saved;
    if (resuming) saved = load_state(state_file);

    keep_freed_memory();
    use_all_cores();
    if (recipe.train.threads > 0) set_threads(int(recipe.train.threads));
    place_ = {
        .rank = std::size_t(group_.rank()),
        .world = std::size_t(group_.world()),
        .threads = int(recipe.data.threads > 0 ? recipe.data.threads : at::get_num_threads())};

    data_ = open_training_data(recipe.data, saved ? saved->classes : std::vector<std::string>());
    model_.emplace(training_model(recipe, *data_.train));
    for (const std::string& text : model_->notes()) note(text);
    Preprocessing preprocessing = model_->preprocessing();
    if (saved) {
        preprocessing = saved->preprocessing;
    } else {
        choose_normalisation(recipe.data, *data_.train, preprocessing);
        if (recipe.eval.crop_ratio > 0) preprocessing.crop_ratio = recipe.eval.crop_ratio;
        preprocessing.crop_mode = recipe.eval.crop_mode;
    }
    model_->set_preprocessing(preprocessing);
    size_ = model_->spec().architecture->common().image_size;
    steps_per_epoch_ = training_sampler(recipe, *data_.train, place_).batches();
    epochs_ = std::uint64_t(std::llround(total_epochs(recipe.schedule)));
    record_every_ = std::clamp<std::uint64_t>(steps_per_epoch_ / 20, 1, 100);
    base_lr_ = scaled_lr(recipe.optim, recipe.data.batch);
    step_ = std::make_unique<TrainingStep>(recipe, *model_, group_);
    state_.preprocessing = preprocessing;
    state_.classes = data_.train->classes();
    if (saved) resume(*saved);
    place_.start = state_.position;
    if (folder_) {
        checkpoints_.emplace(*folder_, recipe_, *model_);
        records_.emplace(*folder_, resuming, state_.step, recipe_);
    }
    if (options.resume && !resuming) note("no checkpoint yet: the run starts from the beginning");
    loader_ = training_loader(
        recipe, data_, preprocessing, size_, place_,
        [this](const BadImage& b) { note(fmt::format("skipped {}: {}", b.name, b.reason)); });
}

void TrainingRun::resume(const RunState& saved) {
    step_->load_state(saved.tensors, (options_.folder / "state.safetensors").string());
    state_ = saved;
    state_.tensors.clear();
    recorded_ = state_.totals;
    note(fmt::format("going on at epoch {} of {}, step {}", state_.position.epoch + 1, epochs_,
                     state_.step));
}

void TrainingRun::note(const std::string& text) {
    if (!group_.is_main()) return;
    if (records_) records_->add_note(text);
    options_.observer.note(text);
}

TrainOutcome TrainingRun::run() {
    TrainOutcome outcome;
    Clock::time_point before = Clock::now();
    while (outcome.stopped_by == 0) {
        Batch* batch = loader_->next();
        if (batch == nullptr) break;
        const bool last = batch->last_of_epoch;
        take_step(*batch, seconds_between(before, Clock::now()));
        state_.position = loader_->position();
        const Clock::time_point now = Clock::now();
        const double seconds = seconds_between(before, now);
        state_.totals.seconds += seconds;
        run_seconds_ += seconds;
        ++run_steps_;
        before = now;
        outcome.stopped_by = agreed_stop();
        if (last) {
            end_epoch();
        } else if (outcome.stopped_by != 0 ||
                   (recipe_.save.steps > 0 &&
                    state_.step % std::uint64_t(recipe_.save.steps) == 0)) {
            save();
        }
        before = last ? Clock::now() : before;
    }
    if (state_.best.any) outcome.best = state_.best.value;
    outcome.skipped = state_.skipped;
    return outcome;
}

void TrainingRun::take_step(Batch& batch, double data_seconds) {
    const double lr = learning_rate(recipe_.schedule, base_lr_, std::int64_t(steps_per_epoch_),
                                    std::int64_t(state_.step));
    const StepResult result = step_->run(batch, state_.step, lr);
    ++state_.step;
    if (!result.first_bad.empty()) {
        ++state_.skipped;
        ++state_.skipped_in_a_row;
        note(fmt::format("step {}: not taken: {} is not finite (loss {})", state_.step,
                         result.first_bad, result.loss));
        if (state_.skipped_in_a_row >= kMostSkippedInARow)
            throw Error(fmt::format(
                "{}: stopped at step {}: {} steps in a row were not finite, first in {}; the last "
                "good checkpoint is intact: lower optim.lr or set optim.clip=norm",
                options_.folder.string(), state_.step, kMostSkippedInARow, result.first_bad));
    } else {
        state_.skipped_in_a_row = 0;
        EpochTotals& totals = state_.totals;
        ++totals.steps;
        totals.loss += result.loss;
        totals.correct += result.correct;
        totals.images += std::uint64_t(result.images);
        totals.data_seconds += data_seconds;
        totals.forward_seconds += result.forward_seconds;
        totals.backward_seconds += result.backward_seconds;
        totals.optimizer_seconds += result.optimizer_seconds;
    }
    record_step(lr);
}

void TrainingRun::record_step(double lr) {
    if (!records_) return;
    const EpochTotals& totals = state_.totals;
    const std::uint64_t in_epoch = (state_.step - 1) % steps_per_epoch_ + 1;
    if (in_epoch % record_every_ == 0 || in_epoch == steps_per_epoch_) {
        records_->train(state_, double(state_.step) / double(steps_per_epoch_), lr,
                        totals - recorded_);
        recorded_ = totals;
    }
    const double steps = double(std::max<std::uint64_t>(totals.steps, 1));
    const double each = run_steps_ == 0 ? 0 : run_seconds_ / double(run_steps_);
    options_.observer.step(
        {.epoch = (state_.step - 1) / steps_per_epoch_,
         .epochs = epochs_,
         .batch = in_epoch,
         .batches = steps_per_epoch_,
         .loss = totals.loss / steps,
         .accuracy = totals.images == 0 ? 0 : totals.correct / double(totals.images),
         .lr = lr,
         .images_per_second = each > 0 ? double(recipe_.data.batch) / each : 0,
         .seconds_left = each * double(epochs_ * steps_per_epoch_ - state_.step)});
}

Metrics TrainingRun::evaluate(const TorchTensors& weights) {
    const TorchExecutor executor(record(model_->spec()));
    const auto loader = evaluation_loader(data_.val, model_->preprocessing(), size_,
                                          {.batch = std::size_t(recipe_.data.val_batch),
                                           .threads = place_.threads,
                                           .rank = place_.rank,
                                           .world = place_.world});
    EvaluateContext context;
    context.precision = recipe_.train.precision == "bf16" ? Precision::bf16 : Precision::fp32;
    const std::size_t share = data_.val->size() / place_.world;
    EvaluateModelOptions options;
    options.progress = [&](std::size_t done) { options_.observer.evaluating(done, share); };
    Metrics metrics = evaluate_model(executor, weights, *loader, context, options).metrics;
    if (group_.world() == 1) return metrics;
    const std::vector<std::byte> packed = metrics.pack();
    Metrics all(state_.classes.size());
    for (const std::string& part :
         group_.all_gather({reinterpret_cast<const char*>(packed.data()), packed.size()}))
        all.merge(Metrics::unpack(std::as_bytes(std::span(part))));
    return all;
}

bool TrainingRun::improves(const Metrics& metrics, const std::optional<Metrics>& ema) {
    const std::string& by = recipe_.save.best;
    double value = metrics.top1();
    if (by == "top5") value = metrics.top5();
    if (by == "loss") value = -metrics.loss();
    if (by == "top1_ema" && ema) value = ema->top1();
    if (state_.best.any && value <= state_.best.value) return false;
    state_.best = {value, state_.position.epoch, true};
    return true;
}

void TrainingRun::end_epoch() {
    step_->average_statistics();
    const std::uint64_t done = state_.position.epoch;  // epochs
    EpochReport report{.epoch = done - 1, .epochs = epochs_};
    const EpochTotals totals = state_.totals;
    if (totals.steps > 0) {
        report.train_loss = totals.loss / double(totals.steps);
        report.train_accuracy = totals.correct / double(totals.images);
        report.seconds = totals.seconds;
        report.images_per_second = double(totals.images) / totals.seconds;
    }
    report.lr = learning_rate(recipe_.schedule, base_lr_, std::int64_t(steps_per_epoch_),
                              std::int64_t(state_.step) - 1);
    state_.totals = {};
    recorded_ = {};

    const bool due = done % std::uint64_t(recipe_.eval.every) == 0 || done == epochs_;
    const TorchTensors ema = step_->ema_weights();
    if (data_.val && due) {
        const Metrics metrics = evaluate(step_->weights());
        std::optional<Metrics> of_ema;
        if (!ema.empty()) of_ema = evaluate(ema);
        report.val = scores_of(metrics);
        if (of_ema) report.val_ema = scores_of(*of_ema);
        report.best = improves(metrics, of_ema);
        if (records_) records_->validation(state_, double(done), metrics, of_ema);
        const bool shows_ema = of_ema && recipe_.save.best == "top1_ema";
        if (report.best || !shown_) shown_ = shows_ema ? *of_ema : metrics;
        if (checkpoints_ && report.best)
            checkpoints_->save_best(shows_ema ? ema : step_->weights(), state_, steps_per_epoch_);
    }
    save();
    if (records_) records_->report(recipe_, *model_, shown_ ? &*shown_ : nullptr, data_.val.get());
    if (group_.is_main()) options_.observer.epoch(report);
}

void TrainingRun::save() {
    if (checkpoints_) checkpoints_->save(*step_, state_, steps_per_epoch_);
}

// All processes stop after the same step, whichever of them was asked.
int TrainingRun::agreed_stop() {
    const int mine = options_.stop();
    if (group_.world() == 1) return mine;
    at::Tensor asked = at::zeros({group_.world()}, at::kLong);
    asked[group_.rank()] = mine;
    group_.all_reduce_sum(asked);
    return asked.max().item<int>();
}

// What a recipe leaves to the machine, decided: the run's recipe.toml then says it, and resuming it
// elsewhere goes on in the same precision.
Recipe settled(Recipe recipe, const TrainOptions& options, const WorldInfo& world) {
    if (recipe.train.precision != "auto") return recipe;
    recipe.train.precision = has_amx() ? "bf16" : "fp32";
    if (world.rank == 0)
        options.observer.note(fmt::format("train.precision=auto: {}, since this processor {} AMX",
                                          recipe.train.precision, has_amx() ? "has" : "lacks"));
    return recipe;
}

}  // namespace

TrainOutcome train(const Recipe& given, const TrainOptions& options, const WorldInfo& world) {
    check(given);
    const Recipe recipe = settled(given, options, world);
    ProcessGroupOptions group_options;
    group_options.device = at::Device(recipe.train.device);
    group_options.resume = "cait train --resume " + options.folder.string();
    ProcessGroup group(world, group_options);
    return TrainingRun(recipe, options, group).run();
}

TrainOutcome train(const TrainRequest& request) {
    if (request.folder.empty()) throw UsageError("train: expected a folder for the run");
    Recipe recipe =
        request.resume ? read_recipe(request.folder / "recipe.toml") : find_recipe(request.recipe);
    const WorldInfo world = world_from_environment();
    for (const std::string& key : set_recipe_values(recipe, request.settings))
        if (world.rank == 0)  // as everything else that a run tells
            request.observer.note(
                fmt::format("{}: left out: {} has no such setting", key, recipe.model.name));
    TrainOptions options;
    options.folder = request.folder;
    options.resume = request.resume;
    options.stop = request.stop;
    options.observer = request.observer;
    return train(recipe, options, world);
}

}  // namespace cait
