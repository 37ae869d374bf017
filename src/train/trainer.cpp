#include "train/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>

#include "data/levels.h"
#include "data/split.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate.h"
#include "evaluate/evaluation_loader.h"
#include "kernels/precision_names.h"
#include "models/catalogue.h"
#include "report/run_results.h"
#include "system/file_guard.h"
#include "system/isa.h"
#include "train/neighbour_judging.h"
#include "train/optim/schedule.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/run/run_identity.h"
#include "train/run/run_records.h"
#include "train/run_plan.h"
#include "train/torch/convert.h"
#include "train/torch/device.h"
#include "train/torch/torch_session.h"
#include "train/views/collapse.h"

namespace cait {

namespace {

constexpr std::uint64_t kMostSkippedInARow = 3;
constexpr double kRecent = 0.05;  // weight of a step in the mean of the latest ones

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
    TrainOutcome run_steps();
    [[noreturn]] void save_before_failing(const FileChanged& change);
    void take_step(Batch& batch, double data_seconds);
    void record_step(double lr);
    void watch_collapse();
    bool has_accuracy() const { return has_classifier(recipe().loss.name); }
    void end_epoch();
    std::unique_ptr<Executor> executor_for(const TorchTensors& weights) const;
    Metrics evaluate(const TorchTensors& weights);
    void save();
    bool improves(const Metrics& metrics, const std::optional<Metrics>& ema);
    bool out_of_patience() const;
    bool is_over() const;
    CheckpointWriter::Facts facts_of(const Metrics& metrics) const;
    int agreed_stop();
    void note_changes(const RunIdentity& before);
    void note(const std::string& text);
    RunFacts facts() const;
    const Recipe& recipe() const { return plan_.recipe; }

    const TrainOptions& options_;
    ProcessGroup& group_;
    std::optional<RunFolder> folder_;  // of the first process
    RunPlan plan_;
    std::optional<RunRecords> records_;
    RunState state_;
    BestSoFar best_on_disk_;
    std::optional<CheckpointWriter> checkpoints_;  // of the first process
    std::unique_ptr<Loader> loader_;
    SchedulePart schedule_;  // for the batch
    double base_lr_ = 0;
    std::uint64_t record_every_ = 1;
    EpochTotals recorded_;                 // the part of the epoch's totals that is in the log
    std::optional<Metrics> shown_;         // the latest evaluation, which the report shows
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
    base_lr_ = scaled_lr(recipe.optim, plan_.recipe.data.batch);
    schedule_ = scaled_schedule(recipe.schedule, recipe.optim, plan_.recipe.data.batch);
    state_.preprocessing = plan_.model.preprocessing();
    state_.classes = plan_.data.train->classes();
    if (saved) resume(*saved);
    if (recipe.clusters.count > 0) state_.clusters = labels_of(*plan_.data.train);
    state_.made_with = identity_of(plan_.recipe);
    state_.made_with.merge(identity_of(plan_.data));
    if (group_.is_main()) state_.made_with.merge(conditions_of(plan_.data, group_.world()));
    recheck_mapped_files();  // from here on nothing of the state comes from a mapped file
    best_on_disk_ = state_.best;
    plan_.place.start = state_.position;
    if (folder_) {
        checkpoints_.emplace(*folder_, plan_.recipe, plan_.model);
        records_.emplace(*folder_, saved.has_value(), state_.step, plan_.recipe);
        for (const std::string& text : plan_.notes) records_->add_note(text);
        if (!records_->damage().empty()) note(records_->damage());
    }
    if (saved && !saved->made_with.empty() && group_.is_main()) note_changes(saved->made_with);
    if (options.resume && !saved) note("no checkpoint yet: the run starts from the beginning");
    loader_ = training_loader(
        plan_.recipe, plan_.data, plan_.model.preprocessing(), plan_.size, plan_.place,
        [this](const BadImage& b) { note(fmt::format("skipped {}: {}", b.name, b.reason)); });
    if (group_.is_main()) options_.observer.start(facts());
}

RunFacts TrainingRun::facts() const {
    const ModelInfo info = plan_.model.info();
    const std::int64_t parts = recipe().optim.accumulate;
    const std::int64_t batch = recipe().data.batch / group_.world();
    return {.model = info.name,
            .params = info.params,
            .image_height = info.image_height,
            .image_width = info.image_width,
            .classes = state_.classes.size(),
            .train_images = plan_.data.train->size(),
            .val_images = plan_.data.val ? plan_.data.val->size() : 0,
            .train_data = recipe().data.train,
            .val_data = plan_.data.val_text,
            .epochs = plan_.epochs,
            .steps_per_epoch = plan_.steps_per_epoch,
            .batch = recipe().data.batch,
            .parts = parts,
            .lr = base_lr_,
            .threads = at::get_num_threads(),
            .processes = group_.world(),
            .precision = recipe().train.precision,
            .isa = std::string(isa_name(used_isa())),
            .memory = plan_.memory ? plan_.memory->peak(batch / parts) : 0,
            .folder = options_.folder};
}

void TrainingRun::resume(const RunState& saved) {
    const std::filesystem::path file = RunFiles::state_of(options_.folder);
    check_position(saved, plan_.epochs, plan_.steps_per_epoch, file);
    if (saved.classes != state_.classes)
        throw Error(fmt::format("{}: classes: expected {}, as the data has them, found {}",
                                file.string(), state_.classes.size(), saved.classes.size()));
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
        records_->log_note(state_, double(state_.step) / double(plan_.steps_per_epoch), line);
    }
}

void TrainingRun::note(const std::string& text) {
    if (!group_.is_main()) return;
    if (records_) records_->add_note(text);
    options_.observer.note(text);
}

TrainOutcome TrainingRun::run() try { return run_steps(); } catch (const FileChanged& change) {
    save_before_failing(change);
}

// Every batch and every answer of a teacher is checked before a step is taken from it: the state is
// that of the last whole step, and the file that changed had no part in it.
void TrainingRun::save_before_failing(const FileChanged& change) {
    loader_.reset();
    forgive_changed_files();
    // The others do not know, so that what is spread over all processes cannot be brought together.
    if (group_.world() > 1 && plan_.step->views() != nullptr)
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
        const bool last = batch->last_of_epoch;
        take_step(*batch, seconds_between(before, Clock::now()));
        state_.position = loader_->position();
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
    const std::uint64_t in_epoch = (state_.step - 1) % plan_.steps_per_epoch + 1;
    if (in_epoch % record_every_ == 0 || in_epoch == plan_.steps_per_epoch) {
        records_->train(state_, double(state_.step) / double(plan_.steps_per_epoch), lr,
                        totals - recorded_, parts_);
        recorded_ = totals;
    }
    const double steps = double(std::max<std::uint64_t>(totals.steps, 1));
    const double each = step_seconds_;
    options_.observer.step(
        {.epoch = (state_.step - 1) / plan_.steps_per_epoch,
         .epochs = plan_.epochs,
         .batch = in_epoch,
         .batches = plan_.steps_per_epoch,
         .loss = totals.loss / steps,
         .accuracy = totals.images == 0 ? 0 : totals.correct / double(totals.images),
         .has_accuracy = has_accuracy(),
         .watched = watched_of(parts_),
         .lr = lr,
         .images_per_second = each > 0 ? double(recipe().data.batch) / each : 0,
         .seconds_left = each * double(plan_.epochs * plan_.steps_per_epoch - state_.step)});
}

// Named once: from there on nothing is learned, and nobody looks at hundreds of figures.
void TrainingRun::watch_collapse() {
    const ViewLearning* const views = plan_.step->views();
    if (views == nullptr) return;
    const std::string found = views->collapse(parts_);
    if (!found.empty() && collapse_.empty())
        note(
            fmt::format("the run has collapsed by step {}: {}; lower optim.lr, or raise "
                        "target.momentum or data.batch",
                        state_.step, found));
    collapse_ = found;
}

// The engine where the weights are on the CPU, else LibTorch on their device.
std::unique_ptr<Executor> TrainingRun::executor_for(const TorchTensors& weights) const {
    std::map<std::string, Tensor> shared;
    at::Device device = at::kCPU;
    for (const auto& [name, tensor] : weights) {
        device = tensor.device();
        shared[name] = share_torch(tensor.detach().cpu().contiguous());
    }
    const Model model = plan_.model.with_weights(std::move(shared));
    const Precision precision = precision_of(recipe().train.precision);
    if (device.is_cpu())
        return std::make_unique<EngineExecutor>(
            model, SessionOptions{.precision = precision,
                                  .threads = at::get_num_threads(),
                                  .batch = std::size_t(recipe().data.val_batch)});
    return make_torch_session(model, precision, device.str());
}

Metrics TrainingRun::evaluate(const TorchTensors& weights) {
    const auto loader = evaluation_loader(plan_.data.val, plan_.model.preprocessing(), plan_.size,
                                          {.batch = std::size_t(recipe().data.val_batch),
                                           .threads = plan_.place.threads,
                                           .rank = plan_.place.rank,
                                           .world = plan_.place.world});
    const std::size_t share = plan_.data.val->size() / plan_.place.world;
    EvaluateOptions options;
    options.progress = [&](std::size_t done) { options_.observer.evaluating(done, share); };
    const std::unique_ptr<Executor> executor = executor_for(weights);
    if (judged_by_neighbours(recipe()))
        return judge_by_neighbours(
            *executor, plan_.model, {plan_.data.known, plan_.data.val},
            neighbour_judging(recipe(), plan_.place.threads, options_.observer.evaluating), group_);
    Metrics metrics = cait::evaluate(*executor, state_.classes.size(), *loader, options).metrics;
    if (group_.world() == 1) return metrics;
    const std::vector<std::byte> packed = metrics.pack();
    Metrics all(state_.classes.size());
    for (const std::string& part :
         group_.all_gather({reinterpret_cast<const char*>(packed.data()), packed.size()}))
        all.merge(Metrics::unpack(std::as_bytes(std::span(part))));
    return all;
}

bool TrainingRun::improves(const Metrics& metrics, const std::optional<Metrics>& ema) {
    const std::string& by = recipe().save.best;
    double value = metrics.top1();
    if (by == "top5") value = metrics.top5();
    if (by == "loss") value = -metrics.loss();
    if (by == "top1_ema" && ema) value = ema->top1();
    if (state_.best.any && value <= state_.best.value) return false;
    state_.best = {value, state_.position.epoch, true};
    return true;
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

CheckpointWriter::Facts TrainingRun::facts_of(const Metrics& metrics) const {
    return {{"top1", fmt::format("{:.4f}", metrics.top1())},
            {"top5", fmt::format("{:.4f}", metrics.top5())},
            {"val_loss", fmt::format("{:.4f}", metrics.loss())},
            {"val_data", plan_.data.val_text},
            {"val_images", std::to_string(metrics.images())}};
}

void TrainingRun::end_epoch() {
    plan_.step->average_statistics();
    const std::uint64_t done = state_.position.epoch;  // epochs
    EpochReport report{.epoch = done - 1, .epochs = plan_.epochs};
    const EpochTotals totals = state_.totals;
    if (totals.steps > 0) {
        report.train_loss = totals.loss / double(totals.steps);
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
    const TorchTensors ema = plan_.step->ema_weights();
    if (plan_.data.val && due) {
        const Metrics metrics = evaluate(plan_.step->weights());
        std::optional<Metrics> of_ema;
        if (!ema.empty()) of_ema = evaluate(ema);
        report.val = scores_of(metrics);
        if (of_ema) report.val_ema = scores_of(*of_ema);
        report.best = improves(metrics, of_ema);
        if (records_) records_->validation(state_, double(done), metrics, of_ema);
        const bool shows_ema = of_ema && recipe().save.best == "top1_ema";
        if (checkpoints_)
            checkpoints_->set_scores(facts_of(metrics),
                                     of_ema ? facts_of(*of_ema) : CheckpointWriter::Facts());
        shown_ = shows_ema ? *of_ema : metrics;
        if (checkpoints_ && report.best)
            checkpoints_->save_best(shows_ema ? ema : plan_.step->weights(), state_,
                                    plan_.steps_per_epoch);
        best_on_disk_ = state_.best;
    }
    save();
    if (records_) records_->report(recipe(), plan_.model, shown_ ? &*shown_ : nullptr, plan_.data);
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
    ProcessGroup group(world, group_options);
    return TrainingRun(recipe, options, group).run();
}

TrainOutcome train(const TrainRequest& request) {
    if (request.folder.empty()) throw UsageError("train: expected a folder for the run");
    Recipe recipe = request.resume ? read_recipe(RunFiles(Folder::open(request.folder)).recipe())
                                   : find_recipe(request.recipe);
    const WorldInfo world = world_from_environment();
    for (const std::string& note : set_recipe_values(recipe, request.settings))
        if (world.rank == 0) request.observer.note(note);  // as everything else that a run tells
    TrainOptions options;
    options.folder = request.folder;
    options.resume = request.resume;
    options.stop = request.stop;
    options.observer = request.observer;
    return train(recipe, options, world);
}

}  // namespace cait
