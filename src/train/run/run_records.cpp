#include "train/run/run_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "evaluate/scores.h"
#include "models/settings.h"
#include "report/report.h"
#include "report/run_results.h"
#include "system/machine.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/validation.h"

namespace cait {

namespace {

double epochs_of(const Recipe& recipe) { return recipe.schedule.epochs + recipe.schedule.cooldown; }

ReportFact length_of(const Recipe& recipe) {
    if (recipe.train.steps > 0) return {"steps", fmt::format("{}", recipe.train.steps)};
    return {"epochs", fmt::format("{:g}", epochs_of(recipe))};
}

// What it is, and what it takes.
std::vector<ReportFact> facts_of(const Model& model) {
    const ModelInfo info = model.info();
    const std::string size =
        fmt::format("{}, {:.2f} M parameters", info.name, double(info.params) / 1e6);
    if (const std::optional<TextFacts>& text = model.text())
        return {{"model", size},
                {"languages", fmt::format("{} to {}", text->source, text->target)},
                {"vocabulary",
                 fmt::format("{} pieces ({})", model.settings().at("vocabulary"), text->kind)}};
    return {{"model", fmt::format("{}, {:.3f} GMAC per image", size, double(info.macs) / 1e9)},
            {"image size", fmt::format("{}x{}", info.image_height, info.image_width)}};
}

std::vector<ReportFact> facts_of(const Recipe& recipe, const Model& model,
                                 const TrainingData& data) {
    std::vector<ReportFact> facts = facts_of(model);
    const std::string batch =
        fmt::format("{}{}", size_of_batch(recipe), data.text ? " pieces" : "");
    const std::vector<ReportFact> run = {
        {"training data", fmt::format("{}, {} {}", recipe.data.train, data.train->size(),
                                      data.text ? "sentence pairs" : "images")},
        {"validation data", data.val_text},
        length_of(recipe),
        {"batch", recipe.optim.accumulate > 1
                      ? fmt::format("{} in {} parts", batch, recipe.optim.accumulate)
                      : batch},
        {"precision", recipe.train.precision},
        {"seed", fmt::format("{}", recipe.train.seed)},
        {"machine", machine_line()}};
    facts.insert(facts.end(), run.begin(), run.end());
    return facts;
}

// "final epoch (10 of 10)", and while the run goes on "latest epoch (3 of 10)". A run whose length
// is in steps does not count its epochs.
std::string latest_text(const EpochScores& scores, const Recipe& recipe) {
    if (recipe.train.steps > 0) return fmt::format("latest epoch ({:g})", scores.epoch);
    const double epochs = epochs_of(recipe);
    return fmt::format("{} epoch ({:g} of {:g})", scores.epoch < epochs ? "latest" : "final",
                       scores.epoch, epochs);
}

void add_results(const Recipe& recipe, const TrainingData& used, ReportData& data) {
    const RunResults results = run_results(data.records, recipe.save.best);
    if (!results.final_epoch) return;
    const bool shows_ema = results.final_ema && is_of_average(recipe.save.best);
    const std::string latest = latest_text(*results.final_epoch, recipe);
    const auto add = [&](std::string name, const EpochScores& scores) {
        data.epochs.push_back({std::move(name), scores.scores});
    };
    add(latest, *results.final_epoch);
    if (results.final_ema) add(latest + ", averaged weights", *results.final_ema);
    if (results.best)
        add(fmt::format("best epoch ({:g}), chosen on the {} by {}", results.best->epoch,
                        used.on_test ? "test part of the data" : "validation set",
                        recipe.save.best),
            *results.best);
    data.shown = shows_ema ? latest + ", averaged weights" : latest;
}

// What differs from a bare recipe, and what most studies vary.
std::vector<HyperParameter> hyper_parameters_of(Recipe recipe) {
    Recipe bare;
    bare.save.best = leading_score(task_of(recipe));
    Settings keys, standard;
    bind(keys, recipe);
    bind(standard, bare);
    const SettingList usual = standard.values();
    std::vector<HyperParameter> result;
    for (std::size_t i = 0; i < keys.keys().size(); ++i) {
        const Settings::Key& key = keys.keys()[i];
        const std::string value = key.get();
        const bool always = key.name == "model.name" || key.name == "optim.lr" ||
                            key.name == "train.seed" || key.name == "schedule.epochs";
        if (key.name == "about" || (value == usual[i].second && !always)) continue;
        if (key.kind == Settings::Kind::flag)
            result.push_back({key.name, value == "true"});
        else if (key.kind == Settings::Kind::number || key.kind == Settings::Kind::integer)
            result.push_back({key.name, parse_number(value)});
        else
            result.push_back({key.name, value});
    }
    for (const auto& [name, value] : recipe.model.settings)
        result.push_back({"model." + name, value});
    return result;
}

MetricsLog open_log(const RunFolder& folder, bool resume, std::uint64_t step) {
    return resume ? MetricsLog::resume(folder.metrics(), std::int64_t(step))
                  : MetricsLog::start(folder.metrics());
}

}  // namespace

RunRecords::RunRecords(const RunFolder& folder, bool resume, std::uint64_t step,
                       const Recipe& recipe)
    : folder_(folder),
      has_accuracy_(asks_for(recipe.loss, &ObjectiveTerm::accuracy)),
      batch_(size_of_batch(recipe)),
      rate_(translates(recipe) ? metric::kPiecesPerSecond : metric::kImagesPerSecond),
      log_(open_log(folder, resume, step)),
      tensorboard_(folder.tensorboard()) {
    tensorboard_.hyper_parameters(hyper_parameters_of(recipe));
    if (resume)
        tensorboard_.resumed_at(std::int64_t(step));
    else
        tensorboard_.text("recipe", 0, "```toml\n" + recipe_text(recipe) + "```\n");
}

void RunRecords::append(const MetricsRecord& record) {
    log_.append(record);
    for (const auto& [name, value] : record.values)
        tensorboard_.scalar(name + "/" + record.kind, record.step, value);
}

void RunRecords::log_note(const RunState& state, double epoch, const std::string& text) {
    log_text("note", state, epoch, text);
}

void RunRecords::log_divergence(const RunState& state, double epoch, const std::string& text) {
    log_text(metric::kDiverged, state, epoch, text);
    tensorboard_.ended(false);
}

void RunRecords::log_text(const std::string& kind, const RunState& state, double epoch,
                          const std::string& text) {
    append({.kind = kind,
            .step = std::int64_t(state.step),
            .epoch = epoch,
            .values = {},
            .text = text});
}

void RunRecords::train(const RunState& state, double epoch, double lr, const EpochTotals& sums,
                       const std::map<std::string, double>& parts) {
    const double known =
        sums.data_seconds + sums.forward_seconds + sums.backward_seconds + sums.optimizer_seconds;
    MetricsRecord record{
        .kind = "train",
        .step = std::int64_t(state.step),
        .epoch = epoch,
        .values = {{metric::kLoss, sums.mean_loss(batch_)},
                   {metric::kLr, lr},
                   {rate_, sums.seconds > 0 ? double(sums.images) / sums.seconds : 0},
                   {metric::kSecondsData, sums.data_seconds},
                   {metric::kSecondsForward, sums.forward_seconds},
                   {metric::kSecondsBackward, sums.backward_seconds},
                   {metric::kSecondsOptimiser, sums.optimizer_seconds},
                   {metric::kSecondsOther, std::max(0.0, sums.seconds - known)},
                   {"skipped_steps", double(state.skipped)}}};
    if (has_accuracy_)
        record.values[metric::kAccuracy] =
            sums.images == 0 ? 0 : sums.correct / double(sums.images);
    record.values.insert(parts.begin(), parts.end());
    append(record);
}

void RunRecords::validation(const RunState& state, double epoch, const Scores& scores,
                            const Scores& of_average) {
    MetricsRecord record{
        .kind = "val", .step = std::int64_t(state.step), .epoch = epoch, .values = {}};
    for (const Score& score : scores) record.values[score.name] = score.value;
    for (const Score& score : main_scores(of_average))
        record.values[score.name + std::string(kOfAverage)] = score.value;
    append(record);
}

void RunRecords::report(const Recipe& recipe, const Model& model, const Validation& evaluation,
                        const TrainingData& used) const {
    ReportData data;
    data.title = fmt::format("{}: {}", folder_.path().filename().string(), recipe.model.name);
    data.facts = facts_of(recipe, model, used);
    data.notes = notes_;
    data.records = read_metrics(folder_.metrics());
    add_results(recipe, used, data);
    data.classes = used.known ? used.known->classes() : model.classes();
    show_measure(evaluation.measure, used.val.get(), data);
    data.segments = evaluation.worst;
    data.colours = evaluation.colours;
    data.recipe = recipe_text(recipe);
    write_report(folder_.report(), data);
}

}  // namespace cait
