// Linked into `cait-torch`: carries out `cait train --seeds N`. A study is a folder with a run for
// each seed, which goes on like any other run; what is finished is marked and not touched again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "data/open_dataset.h"
#include "data_open.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/scores.h"
#include "executor.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "output.h"
#include "progress.h"
#include "report/seed_study.h"
#include "system/file_bytes.h"
#include "system/sandbox.h"
#include "train.h"
#include "train/distributed/world.h"
#include "train/recipe/recipe_file.h"
#include "train/run/recipe_changes.h"
#include "train/run/run_folder.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFinished = "finished.json";  // of a seed: it is done, and its tests so far

// ---- one seed

struct Seed {
    std::int64_t seed = 0;
    FolderPtr study;

    std::string name() const { return fmt::format("seed-{}", seed); }
    fs::path folder() const { return study->path() / name(); }
    FilePlace file(const char* of_it) const { return {study, fs::path(name()) / of_it}; }

    bool is_finished() const { return file(kFinished).exists(); }
    Json tests() const {
        const Json json = Json::parse(read_text(file(kFinished)), nullptr, false);
        if (!json.is_object() || !json.contains("tests") || !json["tests"].is_object())
            throw Error(
                fmt::format("{}: expected an object with 'tests'", file(kFinished).string()));
        return json["tests"];
    }
    void finish(const Json& tests) const {
        write_text(file(kFinished), Json{{"seed", seed}, {"tests", tests}}.dump(2) + "\n");
    }
};

std::vector<Seed> seeds_of(const TrainArguments& arguments, const FolderPtr& study) {
    std::vector<Seed> seeds;
    for (int i = 0; i < arguments.seeds; ++i)
        seeds.push_back({arguments.recipe.train.seed + i, study});
    return seeds;
}

// A run that was begun goes on by its own recipe, as `cait train --resume` does it.
int train_seed(const TrainArguments& arguments, const Seed& seed, const Invocation& invocation) {
    TrainArguments one = arguments;
    one.notes.clear();  // printed once for all
    one.folder = seed.folder().string();
    one.resume = seed.file("recipe.toml").exists();
    one.recipe = one.resume ? read_run_recipe(seed.file("recipe.toml")) : arguments.recipe;
    one.recipe.train.seed = seed.seed;
    one.words_of_one = {"/proc/self/exe", "train"};
    const std::vector<std::string> more =
        one.resume ? std::vector<std::string>{"--resume", one.folder}
                   : std::vector<std::string>{arguments.folder + "/recipe.toml", "--seed",
                                              std::to_string(seed.seed), "--out", one.folder};
    one.words_of_one.insert(one.words_of_one.end(), more.begin(), more.end());
    return train_once(one, invocation);
}

// The final weights, not the best: see seed_study.h.
EpochScores test(const Seed& seed, const std::string& uri) {
    const fs::path file = RunFiles(Folder::open(seed.folder())).last().path();
    const Model model = open_model({.weights = file.string()}).model;
    const auto classes = std::size_t(model.spec().architecture->common().classes);
    const DatasetPtr dataset =
        match_data(open_dataset(uri, Split::val), model.classes(), classes, file.string());
    Progress progress(fmt::format("seed {} on {}", seed.seed, uri), "images");
    EvaluateDataOptions options;
    options.progress = [&](std::size_t done) { progress.update(done, dataset->size()); };
    ExecutorOptions engine;
    engine.batch = options.batch;
    const MeasurePtr measure =
        evaluate_data(*make_executor(model, engine), model, dataset, options).evaluation.measure;
    const auto epochs = model.training().find("epochs");
    return {epochs == model.training().end() ? 0 : std::strtod(epochs->second.c_str(), nullptr),
            measure->scores()};
}

void run_tests(const TrainArguments& arguments, const Seed& seed) {
    Json tests = seed.tests();
    for (const std::string& uri : arguments.tests) {
        if (tests.contains(uri)) continue;
        const EpochScores found = test(seed, uri);
        tests[uri] = {{"epoch", found.epoch}};
        for (const cait::Score& score : main_scores(found.scores))
            tests[uri][score.name] = score.value;
        seed.finish(tests);
    }
}

// ---- the study

std::string validation_text(const Recipe& recipe) {
    const std::string& name = recipe.data.val.empty() ? recipe.data.train : recipe.data.val;
    if (recipe.data.val == "none") return "none";
    if (recipe.data.val.empty() && !has_part(recipe.data.train, Split::val))
        return "images held out by each run's own seed";
    return validates_on_test(name) ? name + ", its test part" : name;
}

SeedRun finished_run(const Seed& seed) {
    SeedRun run{.seed = seed.seed,
                .folder = seed.folder().string(),
                .records = read_metrics(seed.file("metrics.jsonl")),
                .tests = {}};
    const Json tests = seed.tests();
    for (const auto& item : tests.items()) {
        const auto number = [&](const std::string& name) -> const double* {
            const auto found =
                item.value().is_object() ? item.value().find(name) : item.value().end();
            if (found == item.value().end() || !found->is_number_float()) return nullptr;
            return found->get_ptr<const double*>();
        };
        const double* epoch = number("epoch");
        Scores scores = scores_from(number);
        if (epoch == nullptr || scores.empty())
            throw Error(fmt::format("{}: expected an epoch and scores for '{}'",
                                    seed.file(kFinished).string(), item.key()));
        run.tests.emplace_back(item.key(), EpochScores{*epoch, std::move(scores)});
    }
    return run;
}

SeedStudy study_of(const TrainArguments& arguments, const std::vector<Seed>& seeds) {
    const Recipe& recipe = arguments.recipe;
    SeedStudy study;
    study.title =
        fmt::format("{}: {} with {} seeds", fs::path(arguments.folder).filename().string(),
                    recipe.model.name, arguments.seeds);
    study.validation = validation_text(recipe);
    study.requested = std::size_t(arguments.seeds);
    study.facts = {
        {"model", recipe.model.name},
        {"training data", recipe.data.train},
        {"validation data", study.validation},
        {"epochs", fmt::format("{:g}", recipe.schedule.epochs + recipe.schedule.cooldown)},
        {"seeds", fmt::format("{} to {}", seeds.front().seed, seeds.back().seed)}};
    if (recipe.data.val.empty() && !has_part(recipe.data.train, Split::val))
        study.notes.emplace_back(
            "each seed holds other images out for validation, so the runs are not measured on the "
            "same ones: give --val or --test");
    study.recipe = recipe_text(recipe);
    for (const Seed& seed : seeds)
        if (seed.is_finished()) study.runs.push_back(finished_run(seed));
    return study;
}

SeedStudy write_study(const TrainArguments& arguments, const std::vector<Seed>& seeds) {
    SeedStudy study = study_of(arguments, seeds);
    const FolderPtr& folder = seeds.front().study;
    write_text({folder, kSeedsFile}, seeds_json(study).dump(2) + "\n");
    if (!study.runs.empty()) write_text({folder, "seeds.html"}, seeds_html(study));
    return study;
}

bool has_runs(const FolderPtr& study) {
    return std::ranges::any_of(study->names(), [&](const std::string& name) {
        return name.starts_with("seed-") && FilePlace(study, name + "/recipe.toml").exists();
    });
}

// All runs of a study are by one recipe: one that goes on must be asked for by the same.
std::vector<Seed> open_study(const TrainArguments& arguments) {
    validation_text(arguments.recipe);  // throws for a wrong name before anything is written
    const FolderPtr study = RunFiles(Folder::make(arguments.folder)).folder();
    const FilePlace recipe(study, "recipe.toml");
    if (!FilePlace(study, kSeedsFile).exists()) {
        RunFolder::require_free(arguments.folder);
        if (recipe.exists())
            throw UsageError(
                fmt::format("{}: holds a run of one seed; choose another --out", arguments.folder));
    } else if (recipe.exists() && has_runs(study)) {
        const auto changes = changes_beside_seed(read_run_recipe(recipe), arguments.recipe);
        if (!changes.empty())
            throw UsageError(
                fmt::format("{}: holds a study by another recipe ({}); choose another --out",
                            arguments.folder, fmt::join(changes, ", ")));
    }
    std::vector<Seed> seeds = seeds_of(arguments, study);
    write_study(arguments, seeds);
    write_text(recipe, recipe_text(arguments.recipe));
    return seeds;
}

// "75.31 ± 0.12 %"
std::string spread_text(const SeedResults::Row& row) {
    const bool percent = row.score.format == ScoreFormat::percent;
    const double scale = percent ? 100 : 1;
    const int digits = percent ? 2 : 4;
    const Spread& spread = row.spread;
    return fmt::format("{} {:.{}f}{}{}", row.score.title, scale * spread.mean, digits,
                       spread.deviation
                           ? fmt::format(" ± {:.{}f}", scale * *spread.deviation, digits)
                           : std::string(),
                       percent ? " %" : "");
}

void print_study(const TrainArguments& arguments, const SeedStudy& study) {
    print_out("\n{} at the final epoch, mean ± standard deviation of a sample (n - 1)\n",
              study.runs.size() == 1 ? "one seed" : fmt::format("{} seeds", study.runs.size()));
    for (const SeedResults& result : seed_results(study)) {
        std::vector<std::string> texts;
        for (const SeedResults::Row& row : result.rows) texts.push_back(spread_text(row));
        const SeedResults::Row& first = result.rows[0];
        const double scale = first.score.format == ScoreFormat::percent ? 100 : 1;
        texts[0] += fmt::format(", {:.2f} to {:.2f}", scale * first.spread.least,
                                scale * first.spread.most);
        print_out("{}\n  {}\n", result.test, fmt::join(texts, "; "));
    }
    for (const std::string& note : study.notes) print_error("note: {}\n", note);
    print_out("numbers {0}/{1}, plots {0}/seeds.html\n", arguments.folder, kSeedsFile);
}

}  // namespace

void train_seeds(const TrainArguments& arguments, const Invocation& invocation) {
    if (const WorldInfo world = world_from_environment(); world.world > 1)
        throw UsageError(
            fmt::format("train: --seeds starts its runs itself: expected one process, found {} by "
                        "{}; give --nproc instead",
                        world.world, world.counted_by));
    for (const std::string& uri : arguments.tests) open_data(uri, Split::val);  // before the work
    const std::vector<Seed> seeds = open_study(arguments);
    print_notes(arguments.notes);
    for (const Seed& seed : seeds) {
        if (seed.is_finished()) continue;
        print_out("\nseed {} ({} of {})\n", seed.seed, seed.seed - seeds.front().seed + 1,
                  seeds.size());
        flush_out();
        if (const int status = train_seed(arguments, seed, invocation); status != 0) {
            print_error("go on with all seeds: cait train --resume {}\n", arguments.folder);
            *invocation.status = status;
            return;
        }
        seed.finish(Json::object());
        write_study(arguments, seeds);
    }
    // After all training: starting processes is for a program that has no threads yet.
    if (arguments.processes > 1 && arguments.recipe.train.device == "cpu")
        enter_sandbox({arguments.folder});  // images and weights are read here from now on
    for (const Seed& seed : seeds) run_tests(arguments, seed);
    print_study(arguments, write_study(arguments, seeds));
}

}  // namespace cait::app
