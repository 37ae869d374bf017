#include "train/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>

#include "data/levels.h"
#include "data/split.h"
#include "models/finite_logits.h"
#include "report/run_results.h"
#include "system/file_guard.h"
#include "train/diverged.h"
#include "train/objectives/features.h"
#include "train/optim/schedule.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_keys.h"
#include "train/run/checkpoint.h"
#include "train/run/epoch_average.h"
#include "train/run/run_folder.h"
#include "train/run/run_identity.h"
#include "train/run/run_records.h"
#include "train/torch/device.h"
#include "train/validation.h"

namespace cait {

namespace {

constexpr std::uint64_t kMostSkippedInARow = 3;
constexpr const char* kAfterDivergence =
    "the last good checkpoint is intact: lower optim.lr or set optim.clip=norm";
constexpr double kRecent = 0.05;  // weight of a step in the mean of the latest ones

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

class TrainingRun {
public:
    TrainingRun(const Recipe& recipe, const TrainOptions& options, ProcessGroup& group);
    TrainOutcome run();

private:
    void resume(const RunState& saved);
    TrainOutcome run_steps();
    [[noreturn]] void save_before_failing(const FileChanged& change);
    void take_step(Batch& batch, double data_seconds);
    void record_step(double lr);
    void watch_collapse();
    // With the part of one in which a run of so many steps ends.
    double epochs_done() const { return double(state_.step) / double(plan_.steps_per_epoch); }
    bool has_accuracy() const { return asks_for(recipe().loss, &ObjectiveTerm::accuracy); }
    void end_epoch();
    void average_epochs();
    TorchTensors averaged_weights() const;
    Validation validated(const TorchTensors& weights, bool pictures);
    void validate_epoch(EpochReport& report);
    void save();
    void complete();
    bool out_of_patience() const;
    bool is_over() const;
    int agreed_stop();
    void note_changes(const RunIdentity& before);
    void note(const std::string& text);
    const Recipe& recipe() const { return plan_.recipe; }

    const TrainOptions& options_;
    ProcessGroup& group_;
    std::optional<RunFolder> folder_;  // of the first process
    RunPlan plan_;
    std::optional<RunRecords> records_;
    RunState state_;
    BestSoFar best_on_disk_;
    std::optional<CheckpointWriter> checkpoints_;  // of the first process
    std::unique_ptr<BatchSource> loader_;
    std::optional<EpochAverage> kept_epochs_;  // of the first process, with save.average
    TorchTensors mean_of_epochs_;              // of the epochs until the one that ended last
    SchedulePart schedule_;                    // for the batch
    double base_lr_ = 0;
    std::uint64_t record_every_ = 1;
    EpochTotals recorded_;                 // the part of the epoch's totals that is in the log
    Validation shown_;                     // the latest one, which the report shows
    std::map<std::string, double> parts_;  // of the latest loss
    std::string collapse_;                 // in words; empty: none was seen
    double step_seconds_ = 0;              // of late, for rate and time left
    std::uint64_t run_steps_ = 0;          // of this process
};

TrainingRun::TrainingRun(const Recipe& recipe, const TrainOptions& options, ProcessGroup& group)
    : options_(options), group_(group) {
    if (group_.is_main()) {
        if (options.resume)
            folder_.emplace(RunFolder::open(options.folder));
        else
            RunFolder::require_free(options.folder);
    }
    group_.barrier();  // nobody reads the state of a run that another program is training
    std::optional<RunState> saved;
    if (options.resume) {
        const FilePlace state_file = RunFiles(Folder::open(options.folder)).state();
        if (state_file.exists())
            saved = load_state(state_file);
        else
            RunFolder::require_no_results(options.folder);
    }
    plan_ = plan_run(recipe, saved, options.folder, group_);
    recheck_mapped_files();
    // Written only now: a run that cannot start leaves nothing behind.
    if (group_.is_main()) {
        if (!folder_) folder_.emplace(RunFolder::create(options.folder, plan_.recipe));
        if (plan_.data.held_out && !saved) write_holdout(*plan_.data.val, folder_->holdout());
    }
    for (const std::string& text : plan_.notes)
        if (group_.is_main()) options_.observer.note(text);

    record_every_ = std::clamp<std::uint64_t>(plan_.steps_per_epoch / 20, 1, 100);
    base_lr_ = scaled_lr(recipe.optim, size_of_batch(plan_.recipe));
    schedule_ = scaled_schedule(plan_.schedule, recipe.optim, size_of_batch(plan_.recipe));
    state_.preprocessing = plan_.model.preprocessing();
    state_.classes = plan_.data.train->classes();
    if (plan_.data.text) state_.text = plan_.data.text->facts;
    if (saved) resume(*saved);
    // What was changed is kept, or the next resume would go back. A run that is over stays as it
    // was made.
    if (folder_ && options.resume && !is_over()) folder_->keep_recipe(plan_.recipe);
    if (recipe.clusters.count > 0) state_.clusters = labels_of(*plan_.data.train);
    state_.made_with = identity_of(plan_.recipe);
    state_.made_with.merge(identity_of(plan_.data));
    if (group_.is_main()) state_.made_with.merge(conditions_of(plan_.data, group_.world()));
    recheck_mapped_files();  // from here on nothing of the state comes from a mapped file
    best_on_disk_ = state_.best;
    plan_.place.start = state_.position;
    plan_.place.epochs = plan_.epochs;
    if (folder_) {
        checkpoints_.emplace(*folder_, plan_.recipe, plan_.model);
        if (recipe.save.average > 0)
            kept_epochs_.emplace(*folder_, std::uint64_t(recipe.save.average));
        records_.emplace(*folder_, saved.has_value(), state_.step, plan_.recipe);
        for (const std::string& text : plan_.notes) records_->add_note(text);
        if (!records_->damage().empty()) note(records_->damage());
        if (saved && is_over()) complete();
    }
    if (saved && !saved->made_with.empty() && group_.is_main()) note_changes(saved->made_with);
    if (options.resume && !saved) note("no checkpoint yet: the run starts from the beginning");
    loader_ = training_loader(
        plan_.recipe, plan_.data, plan_.model.preprocessing(), plan_.size, plan_.place,
        [this](const BadImage& b) { note(fmt::format("skipped {}: {}", b.name, b.reason)); });
    if (group_.is_main()) options_.observer.start(run_facts(plan_, options_.folder));
}

// What a kill between a run's last state and its model files has left undone.
void TrainingRun::complete() {
    if (kept_epochs_ && state_.kept.window == std::uint64_t(recipe().save.average)) {
        KeptEpochs kept = state_.kept;
        const EpochRange epochs = kept.add(state_.position.epoch, kept.window);
        checkpoints_->set_average(kept_epochs_->mean(epochs), epochs);
    }
    checkpoints_->complete(*plan_.step, state_, plan_.steps_per_epoch);
}

void TrainingRun::resume(const RunState& saved) {
    const std::filesystem::path file = RunFiles::state_of(options_.folder);
    check_position(saved, plan_.epochs, plan_.steps_per_epoch, file);
    if (saved.classes != state_.classes)
        throw Error(fmt::format("{}: classes: expected {}, as the data has them, found {}",
                                file.string(), state_.classes.size(), saved.classes.size()));
    if (saved.text != state_.text)
        throw Error(fmt::format(
            "{}: expected sentences from {} to {}, as the run has learned, "
            "found {} to {}",
            file.string(), saved.text ? saved.text->source : "",
            saved.text ? saved.text->target : "", state_.text ? state_.text->source : "",
            state_.text ? state_.text->target : ""));
    plan_.step->load_state(saved.tensors, file.string());
    state_ = saved;
    state_.tensors.clear();
    recorded_ = state_.totals;
    if (is_over()) return;
    note(fmt::format("going on at epoch {} of {}, step {}", state_.position.epoch + 1, plan_.epochs,
                     state_.step));
}

void TrainingRun::note_changes(const RunIdentity& before) {
    std::vector<std::string> lines;
    const std::vector<std::string> changes = changes_between(before, state_.made_with);
    if (!changes.empty())
        lines.push_back(
            fmt::format("changed since the run was saved: {}", fmt::join(changes, ", ")));
    if (!is_over())
        std::ranges::copy(changed_conditions(before, state_.made_with), std::back_inserter(lines));
    for (const std::string& line : lines) {
        note(line);
        records_->log_note(state_, epochs_done(), line);
    }
}

void TrainingRun::note(const std::string& text) {
    if (!group_.is_main()) return;
    if (records_) records_->add_note(text);
    options_.observer.note(text);
}

TrainOutcome TrainingRun::run() try { return run_steps(); } catch (const FileChanged& change) {
    save_before_failing(change);
} catch (const DivergedError& error) {
    if (records_) records_->log_divergence(state_, epochs_done(), error.what());
    throw DivergedError(fmt::format("{}: {}", options_.folder.string(), error.what()));
}

// Every batch and every answer of a teacher is checked before a step is taken from it: the state is
// that of the last whole step, and the file that changed had no part in it.
void TrainingRun::save_before_failing(const FileChanged& change) {
    loader_.reset();
    forgive_changed_files();
    // The others do not know, so that what is spread over all processes cannot be brought together.
    if (group_.world() > 1 && plan_.step->objective().needs().spread_state)
        throw Error(
            fmt::format("{}; the last checkpoint is intact: go on with cait train --resume {}",
                        change.what(), options_.folder.string()));
    state_.best = best_on_disk_;
    save();
    throw Error(fmt::format("{}; the run is saved: go on with cait train --resume {}",
                            change.what(), options_.folder.string()));
}

TrainOutcome TrainingRun::run_steps() {
    TrainOutcome outcome;
    Clock::time_point before = Clock::now();
    while (outcome.stopped_by == 0 && !is_over()) {
        Batch* batch = loader_->next();
        recheck_mapped_files();  // a microsecond for each
        if (batch == nullptr) break;
        bool last = batch->last_of_epoch;
        take_step(*batch, seconds_between(before, Clock::now()));
        state_.position = loader_->position();
        if (state_.step == plan_.steps) {  // maybe in the middle of an epoch
            last = true;
            state_.position = {plan_.epochs, 0};
        }
        const Clock::time_point now = Clock::now();
        const double seconds = seconds_between(before, now);
        state_.totals.seconds += seconds;
        ++run_steps_;
        step_seconds_ += (seconds - step_seconds_) * std::max(kRecent, 1 / double(run_steps_));
        before = now;
        outcome.stopped_by = agreed_stop();
        if (last) {
            end_epoch();
        } else if (outcome.stopped_by != 0 ||
                   (recipe().save.steps > 0 &&
                    state_.step % std::uint64_t(recipe().save.steps) == 0)) {
            save();
        }
        before = last ? Clock::now() : before;
    }
    if (state_.best.any) outcome.best = state_.best.value;
    outcome.best_by = recipe().save.best;
    if (records_ && run_steps_ > 0 && is_over()) records_->ended();
    if (folder_) {
        const RunResults results =
            run_results(read_metrics(folder_->metrics()), recipe().save.best);
        outcome.final_epoch = results.final_epoch;
        outcome.best_epoch = results.best;
    }
    outcome.skipped = state_.skipped;
    outcome.steps = run_steps_;
    outcome.patience_ran_out = out_of_patience();
    outcome.classifies = !judged_by_neighbours(recipe());
    outcome.collapse = collapse_;
    return outcome;
}

void TrainingRun::take_step(Batch& batch, double data_seconds) {
    const double lr = learning_rate(schedule_, base_lr_, std::int64_t(plan_.steps_per_epoch),
                                    std::int64_t(state_.step));
    plan_.step->set_weight_decay(weight_decay(
        recipe().optim, schedule_, std::int64_t(plan_.steps_per_epoch), std::int64_t(state_.step)));
    const TargetPart& target = recipe().target;
    plan_.step->set_target_momentum(target_momentum(
        target.momentum,
        target.schedule == ScheduleKind::constant ? target.momentum : target.momentum_end,
        schedule_, std::int64_t(plan_.steps_per_epoch), std::int64_t(state_.step)));
    const StepResult result = plan_.step->run(batch, state_.step, lr);
    ++state_.step;
    parts_ = result.parts;
    if (!result.first_bad.empty()) {
        ++state_.skipped;
        ++state_.skipped_in_a_row;
        note(fmt::format("step {}: not taken: {} is not finite (loss {})", state_.step,
                         result.first_bad, result.loss));
        if (state_.skipped_in_a_row >= kMostSkippedInARow) {
            throw DivergedError(fmt::format(
                "stopped at step {}: {} steps in a row were not finite, first in {}; {}",
                state_.step, kMostSkippedInARow, result.first_bad, kAfterDivergence));
        }
    } else {
        state_.skipped_in_a_row = 0;
        EpochTotals& totals = state_.totals;
        ++totals.steps;
        totals.loss += result.loss * (result.images / double(size_of_batch(recipe())));
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
    const std::uint64_t in_epoch = (state_.step - 1) % plan_.steps_per_epoch + 1;
    const double mean_loss = totals.mean_loss(size_of_batch(recipe()));
    const bool ends = in_epoch == plan_.steps_per_epoch || state_.step == plan_.steps;
    if (in_epoch % record_every_ == 0 || ends) {
        std::map<std::string, double> parts = parts_;
        // Of the whole epoch, whether or not the run was stopped in it.
        if (ends) {
            parts[metric::kEpochLoss] = mean_loss;
            if (has_accuracy())
                parts[metric::kEpochTop1] =
                    totals.images == 0 ? 0 : totals.correct / double(totals.images);
        }
        records_->train(state_, epochs_done(), lr, totals - recorded_, parts);
        recorded_ = totals;
    }
    const double each = step_seconds_;
    // Steps with sentences have each another number of pieces.
    const double images = totals.steps == 0 ? 0 : double(totals.images) / double(totals.steps);
    options_.observer.step(
        {.epoch = (state_.step - 1) / plan_.steps_per_epoch,
         .epochs = plan_.epochs,
         .batch = in_epoch,
         .batches = plan_.steps_per_epoch,
         .loss = mean_loss,
         .accuracy = totals.images == 0 ? 0 : totals.correct / double(totals.images),
         .has_accuracy = has_accuracy(),
         .watched = watched_of(parts_),
         .lr = lr,
         .images_per_second = each > 0 ? images / each : 0,
         .seconds_left = each * double(plan_.steps - state_.step)});
}

// Named once: from there on nothing is learned, and nobody looks at hundreds of figures.
void TrainingRun::watch_collapse() {
    const std::string found = plan_.step->objective().collapse(parts_);
    if (!found.empty() && collapse_.empty())
        note(
            fmt::format("the run has collapsed by step {}: {}; lower optim.lr, or raise "
                        "target.momentum or data.batch",
                        state_.step, found));
    collapse_ = found;
}

// Only a validation can tell: between two of them no epoch is known to be worse.
bool TrainingRun::out_of_patience() const {
    const auto patience = std::uint64_t(recipe().train.patience);
    const auto every = std::uint64_t(recipe().eval.every);
    const std::uint64_t validated = state_.position.epoch / every * every;
    return patience > 0 && state_.best.any && validated >= state_.best.epoch + patience;
}

bool TrainingRun::is_over() const {
    return state_.position.epoch >= plan_.epochs || out_of_patience();
}

// Every step may be finite and the answers to other images not.
Validation TrainingRun::validated(const TorchTensors& weights, bool pictures) {
    try {
        return validate(plan_, weights, group_,
                        {.pictures = pictures, .progress = options_.observer.evaluating});
    } catch (const NonFiniteLogits& error) {
        throw DivergedError(fmt::format("stopped at the validation after epoch {}: {}; {}",
                                        state_.position.epoch, error.what(), kAfterDivergence));
    }
}

// The weights as they are, and their average where there is one.
void TrainingRun::validate_epoch(EpochReport& report) {
    const TorchTensors weights = plan_.step->weights(), average = averaged_weights();
    const bool shows_average = !average.empty() && is_of_average(recipe().save.best);
    Validation of_weights = validated(weights, !shows_average), of_average_weights;
    if (!average.empty()) of_average_weights = validated(average, shows_average);
    const MeasurePtr measure = of_weights.measure, of_average = of_average_weights.measure;
    report.val = measure->scores();
    if (of_average) report.val_ema = of_average->scores();
    const Scores averaged = report.val_ema.value_or(Scores());
    report.best = improves(recipe(), *report.val, averaged, state_.position.epoch, state_.best);
    if (records_) records_->validation(state_, epochs_done(), *report.val, averaged);
    shown_ = std::move(shows_average ? of_average_weights : of_weights);
    if (checkpoints_) {
        using Facts = CheckpointWriter::Facts;
        checkpoints_->set_scores(validation_facts(*measure, plan_.data),
                                 of_average ? validation_facts(*of_average, plan_.data) : Facts());
        if (report.best)
            checkpoints_->save_best(shows_average ? average : weights, state_,
                                    plan_.steps_per_epoch);
    }
    best_on_disk_ = state_.best;
}

// The mean over the last epochs, where there is one: from the files of the first process.
void TrainingRun::average_epochs() {
    const auto window = std::uint64_t(recipe().save.average);
    if (window == 0) {
        state_.kept = {};
        return;
    }
    const EpochRange epochs = state_.kept.add(state_.position.epoch, window);
    const TorchTensors weights = plan_.step->weights();
    if (kept_epochs_) {
        kept_epochs_->keep(epochs.last, weights);
        mean_of_epochs_ = kept_epochs_->mean(epochs);
    }
    for (const auto& [name, tensor] : weights) {
        at::Tensor& mean = mean_of_epochs_[name];
        mean = mean.defined() ? mean.to(tensor.device()) : at::empty_like(tensor.detach());
        group_.broadcast(mean);
    }
    if (checkpoints_) checkpoints_->set_average(mean_of_epochs_, epochs);
}

TorchTensors TrainingRun::averaged_weights() const {
    return recipe().save.average > 0 ? mean_of_epochs_ : plan_.step->ema_weights();
}

void TrainingRun::end_epoch() {
    plan_.step->average_statistics();
    average_epochs();
    const std::uint64_t done = state_.position.epoch;  // epochs
    EpochReport report{.epoch = done - 1, .epochs = plan_.epochs};
    const EpochTotals totals = state_.totals;
    if (totals.steps > 0) {
        report.train_loss = totals.mean_loss(size_of_batch(recipe()));
        report.train_accuracy = totals.correct / double(totals.images);
        report.seconds = totals.seconds;
        report.images_per_second = double(totals.images) / totals.seconds;
    }
    report.has_accuracy = has_accuracy();
    report.watched = watched_of(parts_);
    watch_collapse();
    report.lr = learning_rate(schedule_, base_lr_, std::int64_t(plan_.steps_per_epoch),
                              std::int64_t(state_.step) - 1);
    state_.totals = {};
    recorded_ = {};

    const bool due = done % std::uint64_t(recipe().eval.every) == 0 || done == plan_.epochs;
    if (plan_.data.val && due) validate_epoch(report);
    save();
    if (records_) records_->report(recipe(), plan_.model, shown_, plan_.data);
    if (group_.is_main()) options_.observer.epoch(report);
}

void TrainingRun::save() {
    plan_.step->gather_state();
    if (checkpoints_) checkpoints_->save(*plan_.step, state_, plan_.steps_per_epoch);
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

}  // namespace

TrainOutcome train(const Recipe& recipe, const TrainOptions& options, const WorldInfo& world) {
    check(recipe);
    ProcessGroupOptions group_options;
    group_options.device = usable_device(recipe.train.device, "train.device");
    group_options.resume = "cait train --resume " + options.folder.string();
    group_options.waiting.note = options.observer.note;
    group_options.waiting.stop = options.stop;
    std::optional<ProcessGroup> group;
    try {
        group.emplace(world, group_options);
    } catch (const StoppedWaiting& stopped) {
        TrainOutcome outcome;
        outcome.stopped_by = stopped.signal();
        return outcome;
    }
    return TrainingRun(recipe, options, *group).run();
}

}  // namespace cait
