#include "train/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/levels.h"
#include "models/catalogue.h"
#include "system/isa.h"
#include "train/cluster_labels.h"
#include "train/objectives/label_loss.h"
#include "train/optim/schedule.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_data.h"
#include "train/recipe/unused_keys.h"
#include "train/run/run_folder.h"
#include "train/run/run_identity.h"
#include "train/torch/runtime.h"
#include "train/training_model.h"
#include "train/validation.h"

namespace cait {

namespace {

constexpr double kGibibyte = 1 << 30;

// By the instruction set alone: a timing would depend on what else the machine does, and the same
// command would train in another precision.
void choose_precision(RunPlan& plan) {
    std::string& precision = plan.recipe.train.precision;
    if (precision != "auto") return;
    const bool has_bfloat16 = used_isa() >= Isa::avx512_bf16;
    precision = has_bfloat16 ? "bf16" : "fp32";
    plan.notes.push_back(fmt::format("train.precision=auto: {}, as {} {} instructions for bfloat16",
                                     precision, isa_name(used_isa()),
                                     has_bfloat16 ? "has" : "has no"));
}

// The recipe of the run says which score it is, and so does whoever reads it.
void choose_best(Recipe& recipe) {
    if (recipe.save.best == "auto") recipe.save.best = leading_score(task_of(recipe));
}

// No batch is larger than the data.
void fit_images(RunPlan& plan) {
    const auto images = std::int64_t(plan.data.train->size());
    std::int64_t& batch = plan.recipe.data.batch;
    const auto world = std::int64_t(plan.place.world);
    if (batch % world != 0)
        throw UsageError(fmt::format(
            "data.batch: expected a multiple of the {} processes, found {}", world, batch));
    if (mixes(plan.recipe.augment) && batch / world % 2 != 0)
        throw UsageError(fmt::format(
            "data.batch: expected an even number of images in each of {} processes, as images are "
            "mixed in pairs, found {} of {}",
            world, batch / world, batch));
    const std::int64_t parts = std::max<std::int64_t>(1, plan.recipe.optim.accumulate);
    if (batch / world % parts != 0)
        throw UsageError(fmt::format(
            "optim.accumulate: expected a divisor of the {} images that each of {} processes has "
            "of a batch, found {}",
            batch / world, world, parts));
    // Repeated augmentation ends an epoch at a multiple of 256, see SamplerOptions.
    const bool rounds = plan.recipe.data.repeats > 1 && images >= 256;
    const std::int64_t most = rounds ? images / 256 * 256 : images;
    plan.samples = batch / world;
    if (batch <= most) return;
    // Each process has pairs to mix, and as many images in each part.
    const std::int64_t step =
        world * std::lcm(parts, std::int64_t(mixes(plan.recipe.augment) ? 2 : 1));
    const std::int64_t fitting = most / step * step;
    if (fitting == 0)
        throw Error(fmt::format("{}: expected at least {} training images, found {}",
                                plan.recipe.data.train, step, images));
    plan.notes.push_back(
        fmt::format("data.batch {} -> {}: there are {} training images", batch, fitting, images));
    batch = fitting;
    plan.samples = batch / world;
}

void count_steps(RunPlan& plan) {
    if (plan.data.text) {
        const TextLoaderOptions options =
            training_text(plan.recipe, *plan.data.text, plan.place.rank, plan.place.world);
        const TextBatches batches = batches_of(*plan.data.text->train, options);
        plan.steps_per_epoch = batches.batches();
        plan.left_out = batches.too_long();
        const TextBatchShape fullest = batches.fullest();
        plan.longest = size_of(fullest);
        plan.samples = std::int64_t(fullest.sentences);
        return;
    }
    const Sampler sampler = training_sampler(plan.recipe, *plan.data.train, plan.place);
    plan.steps_per_epoch = sampler.batches();
    plan.last_batch = sampler.last_batch();
    plan.left_out = sampler.left_out();
}

// The vocabulary decides how large the model is, and both how long the sentences are.
void prepare_sentences(RunPlan& plan, const std::optional<RunState>& saved, ProcessGroup& group) {
    plan.model = translation_model(
        plan.recipe, *plan.data.train, saved ? saved->text : std::nullopt,
        [&] { return make_vocabulary(plan.recipe, *plan.data.train, group, plan.notes); });
    SentenceData& text = plan.data.text.emplace();
    text.facts = *plan.model.text();
    text.longest = parse_integer(plan.model.settings().at("longest"));
    const VocabularyPtr vocabulary =
        read_vocabulary(text.facts.kind, text.facts.vocabulary, "the vocabulary of the run");
    text.train = encode_pairs(plan.data.train, *vocabulary, plan.place.threads);
    if (!plan.data.val) return;
    std::vector<std::size_t> share;
    for (std::size_t i = plan.place.rank; i < plan.data.val->size(); i += plan.place.world)
        share.push_back(i);
    if (!share.empty())
        text.val = encode_pairs(subset(plan.data.val, share), *vocabulary, plan.place.threads);
}

// Images of a validation that are in memory at once, or such sentences as a step has.
std::int64_t validated_at_once(const RunPlan& plan) {
    const auto there = std::int64_t(plan.data.val ? plan.data.val->size() : 0);
    return std::min(plan.longest ? plan.samples : plan.recipe.data.val_batch, there);
}

void choose_preprocessing(RunPlan& plan, const std::optional<RunState>& saved) {
    const Recipe& recipe = plan.recipe;
    Preprocessing preprocessing = plan.model.preprocessing();
    if (saved) {
        preprocessing = saved->preprocessing;
    } else {
        choose_normalisation(recipe.data, *plan.data.train, preprocessing);
        if (recipe.eval.crop_ratio > 0) preprocessing.crop_ratio = recipe.eval.crop_ratio;
        preprocessing.crop_mode = recipe.eval.crop_mode;
    }
    plan.model.set_preprocessing(preprocessing);
}

int processes_here(ProcessGroup& group) {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const std::string own = name.data();
    return int(std::ranges::count(group.all_gather(own), own));
}

// All processes work a batch through in as many parts: what the one with the least memory needs.
std::int64_t most_of_all(std::int64_t mine, ProcessGroup& group) {
    std::int64_t most = 0;
    for (const std::string& parts : group.all_gather(std::to_string(mine))) {
        if (std::stoll(parts) == 0) return 0;
        most = std::max<std::int64_t>(most, std::stoll(parts));
    }
    return most;
}

void fit_memory(RunPlan& plan, ProcessGroup& group) {
    Recipe& recipe = plan.recipe;
    std::int64_t& accumulate = recipe.optim.accumulate;
    const std::int64_t batch = plan.samples;
    const char* const samples = plan.longest ? "sentence pairs" : "images";
    const auto in_parts = [batch](std::int64_t parts) { return (batch + parts - 1) / parts; };
    if (at::Device(recipe.train.device).is_cpu()) {
        plan.memory = forecast_memory(*plan.step, sample_cost(plan.model, plan.longest), batch,
                                      validated_at_once(plan));
        const std::int64_t left = memory_budget(processes_here(group));
        const std::int64_t budget =
            recipe.train.memory > 0 ? std::int64_t(recipe.train.memory * kGibibyte) : left;
        const std::int64_t needed =
            most_of_all(parts_within(*plan.memory, batch, budget, !plan.longest), group);
        const auto gib = [](std::int64_t bytes) { return double(bytes) / kGibibyte; };
        const double whole = gib(plan.memory->peak(batch)), there = gib(budget);
        if (accumulate == OptimPart::kAccumulateOff && needed != 1)
            throw Error(fmt::format(
                "optim.accumulate=off: a batch of {} {} needs {:.1f} GiB at once, {:.1f} GiB "
                "may be used here: expected a smaller data.{}, or optim.accumulate=auto",
                batch, samples, whole, there, plan.longest ? "pieces" : "batch"));
        if (needed == 0)
            throw Error(fmt::format(
                "{}: not even one {} at a time fits into the memory: {:.1f} GiB are needed, "
                "{:.1f} GiB may be used: expected a smaller model or {}",
                recipe.model.name, plan.longest ? "pair of sentences" : "image",
                gib(plan.memory->peak(1)), there,
                plan.longest ? "a lower model.longest" : "smaller images"));
        if (accumulate == OptimPart::kAccumulateAuto && needed > 1)
            plan.notes.push_back(fmt::format(
                "optim.accumulate=auto: {0} parts of {1} {5} each: all {2} at once would need "
                "{3:.1f} GiB, {4:.1f} GiB may be used",
                needed, in_parts(needed), batch, whole, there, samples));
        else if (accumulate > 0 && accumulate < needed)
            plan.notes.push_back(fmt::format(
                "optim.accumulate={}: the run may need {:.1f} GiB, {:.1f} GiB may be used here",
                accumulate, gib(plan.memory->peak(in_parts(accumulate))), there));
        if (accumulate == OptimPart::kAccumulateAuto) accumulate = needed;
    }
    accumulate = std::max<std::int64_t>(1, accumulate);
    plan.step->set_parts(accumulate);
}

void note_data(RunPlan& plan, bool resuming, const std::filesystem::path& folder) {
    if (plan.data.held_out && !resuming)
        plan.notes.push_back(fmt::format("no validation data: {} ({}{})", plan.data.val_text,
                                         plan.data.train->has_sentences() ? "listed in " : "csv:",
                                         (folder / RunFiles::kHoldout).string()));
    else if (!plan.data.val && plan.recipe.data.val != "none")
        plan.notes.push_back("no validation: " + plan.data.val_text);
    if (plan.data.on_test)
        plan.notes.push_back(
            fmt::format("validation is on {}: the best epoch is chosen on test data, so publish "
                        "the final one",
                        plan.data.val_text));
}

// The views of a batch, without pixels.
std::vector<ViewGroup> views_of(const RunPlan& plan) {
    std::vector<ViewGroup> groups;
    if (plan.recipe.views.name == ViewsKind::none) return groups;
    const Preprocessing& preprocessing = plan.model.preprocessing();
    const TrainSettings settings = train_settings(plan.recipe, plan.size.height, plan.size.width,
                                                  preprocessing.mean, preprocessing.std);
    for (const auto& [count, height, width] : view_transform(plan.recipe, settings).groups)
        groups.push_back({count, height, width, {}});
    return groups;
}

DataFacts facts_of(const RunPlan& plan) {
    if (plan.data.text) return {.labels = {}, .views = {}, .targets = {}, .longest = plan.longest};
    DataFacts facts{
        .labels = labels_of(*plan.data.train),
        .class_weights = class_weights(plan.recipe.loss.class_weights, *plan.data.train),
        .maps = {},
        .views = views_of(plan),
        .targets = training_targets(plan.recipe, plan.data)};
    if (plan.data.maps) facts.maps = plan.data.maps->size();
    return facts;
}

// A batch far below optim.lr_batch may lower the peak below the end of the cosine.
void note_rate(RunPlan& plan) {
    const Recipe& recipe = plan.recipe;
    const RunFacts facts = run_facts(plan, {});
    if (facts.min_lr && facts.lr < *facts.min_lr)
        plan.notes.push_back(fmt::format(
            "the learning rate ends above its peak: schedule.min_lr {:.3g}, but optim.lr "
            "{:.3g} for a batch of {} is {:.3g} for one of {}: lower schedule.min_lr, or "
            "set schedule.scale_ends=true",
            *facts.min_lr, recipe.optim.lr, recipe.optim.lr_batch, facts.lr,
            size_of_batch(recipe)));
}

// A shorter run may end before its rate ever falls.
void note_steps(RunPlan& plan) {
    const SchedulePart& schedule = plan.schedule;
    if (schedule.name != ScheduleKind::steps || schedule.steps_at.empty() ||
        schedule.steps_at.back() < schedule.epochs)
        return;
    plan.notes.push_back(
        fmt::format("schedule.steps_at={}: the run has {:g} epochs, so that the rate does not fall "
                    "where these lie beyond",
                    fmt::join(schedule.steps_at, ","), schedule.epochs));
}

void choose_length(RunPlan& plan) {
    const TrainPart& train = plan.recipe.train;
    plan.schedule = schedule_in_epochs(plan.recipe, std::int64_t(plan.steps_per_epoch));
    plan.epochs = std::uint64_t(std::llround(total_epochs(plan.schedule)));
    plan.steps = plan.epochs * plan.steps_per_epoch;
    if (train.steps == 0) return;
    plan.steps = std::uint64_t(train.steps);
    plan.epochs = (plan.steps + plan.steps_per_epoch - 1) / plan.steps_per_epoch;
    plan.notes.push_back(fmt::format("train.steps={}: {:.3g} epochs of {} steps", train.steps,
                                     plan.schedule.epochs, plan.steps_per_epoch));
}

// Weights bring their model's settings along; the recipe of the run keeps them.
void keep_settings(RunPlan& plan) {
    SettingList& settings = plan.recipe.model.settings;
    for (const auto& [key, value] : plan.model.spec().settings()) {
        const bool given =
            std::ranges::find(settings, key, &SettingList::value_type::first) != settings.end();
        if (!given && key != "classes" && !key.starts_with(kHeadPrefix))
            settings.emplace_back(key, value);
    }
}

// What only images have: how they are prepared, and how many tokens they make.
void prepare_images(RunPlan& plan, const std::optional<RunState>& saved) {
    choose_preprocessing(plan, saved);
    if (std::string note = fit_views_to_model(plan.recipe); !note.empty())
        plan.notes.push_back(std::move(note));
    plan.size = plan.model.spec().architecture->common().image_size;
    plan.data.tokens = record(plan.model.spec()).patch_grid;
    plan.data.size = plan.size;
}

// Of images every run leaves some out, which the header tells.
void note_left_out(RunPlan& plan) {
    if (plan.data.text && plan.left_out > 0)
        plan.notes.push_back(fmt::format(
            "{} of {} training pairs are left out: they have more than {} pieces on a side "
            "(model.longest)",
            plan.left_out, plan.data.text->train->size(), plan.data.text->longest));
}

void note_neighbours(RunPlan& plan) {
    if (judged_by_neighbours(plan.recipe) && plan.data.val)
        plan.notes.push_back(
            fmt::format("nothing learns to tell the data's classes apart: validation images are "
                        "classified by their {} nearest "
                        "training images, by {} features",
                        std::min<std::int64_t>(plan.recipe.eval.neighbours,
                                               std::int64_t(plan.data.train->size())),
                        plan.recipe.eval.features == "trunk" ? "the trunk's" : "projected"));
}

std::optional<RunFacts::Text> text_facts(const RunPlan& plan) {
    if (!plan.data.text) return std::nullopt;
    const TextFacts& facts = plan.data.text->facts;
    return RunFacts::Text{.source = facts.source,
                          .target = facts.target,
                          .pieces = parse_integer(plan.model.settings().at("vocabulary"))};
}

}  // namespace

RunPlan plan_run(const Recipe& recipe, const std::optional<RunState>& saved,
                 const std::filesystem::path& folder, ProcessGroup& group) {
    keep_freed_memory();
    use_all_cores();
    if (recipe.train.threads > 0) set_threads(int(recipe.train.threads));
    RunPlan plan;
    plan.recipe = recipe;
    plan.place = {
        .rank = std::size_t(group.rank()),
        .world = std::size_t(group.world()),
        .threads = int(recipe.data.threads > 0 ? recipe.data.threads : at::get_num_threads())};
    choose_precision(plan);
    choose_best(plan.recipe);
    KnownData known;
    if (saved) {
        if (recipe.clusters.count == 0) known.classes = saved->classes;
        known.source = RunFiles::state_of(folder).string();
        if (const FilePlace list = RunFiles(Folder::open(folder)).holdout(); list.exists())
            known.holdout = list;
    }
    require_same(identity_of(recipe), group);
    plan.data = open_training_data(recipe, known);
    require_same(identity_of(plan.data), group);
    note_data(plan, saved.has_value(), folder);
    for (const std::string& note : plan.data.train->notes()) plan.notes.push_back(note);
    if (plan.data.val && !plan.data.held_out)
        for (const std::string& note : plan.data.val->notes()) plan.notes.push_back(note);
    plan.data.known = plan.data.train;
    if (recipe.clusters.count > 0) {
        ClusteredData clustered =
            saved && !saved->clusters.empty()
                ? known_clusters(recipe.clusters, plan.data.train, saved->clusters, known.source)
                : cluster_labels(recipe.clusters, plan.data.train, std::uint64_t(recipe.train.seed),
                                 plan.place.threads);
        plan.data.train = std::move(clustered.images);
        plan.notes.push_back(std::move(clustered.note));
    }
    if (!translates(recipe)) fit_images(plan);
    if (recipe.model.expects_weights && recipe.model.weights.empty() && !saved)
        plan.notes.emplace_back(
            "training starts from random weights, although the recipe is for fine-tuning: give "
            "some with --weights");
    if (translates(recipe))
        prepare_sentences(plan, saved, group);
    else
        plan.model = training_model(recipe, *plan.data.train);
    plan.notes.insert(plan.notes.end(), plan.model.notes().begin(), plan.model.notes().end());
    if (!recipe.model.weights.empty() && !saved) keep_settings(plan);
    if (!plan.data.text) prepare_images(plan, saved);
    count_steps(plan);
    note_left_out(plan);
    choose_length(plan);
    plan.step = std::make_unique<TrainingStep>(plan.recipe, plan.model, group, facts_of(plan));
    std::ranges::copy(plan.step->objective().notes(), std::back_inserter(plan.notes));
    note_neighbours(plan);
    if (plan.data.val && plan.data.val->has_objects() && !plan.data.val->has_object_masks() &&
        plan.recipe.save.best.starts_with("mask_"))
        throw UsageError(
            fmt::format("save.best: expected a score of boxes, as {} has no masks, found {}",
                        plan.data.val_text, plan.recipe.save.best));
    if (plan.data.val)
        check_followed(plan.recipe, recipe.save.average > 0 || !plan.step->ema_weights().empty());
    fit_memory(plan, group);
    note_rate(plan);
    note_steps(plan);
    return plan;
}

RunFacts run_facts(const RunPlan& plan, const std::filesystem::path& folder) {
    const Recipe& recipe = plan.recipe;
    const std::int64_t whole = size_of_batch(recipe);
    const SchedulePart ends = scaled_schedule(plan.schedule, recipe.optim, whole);
    const auto if_read = [&](const char* key, double value) {
        const auto unused = unused_keys(recipe);
        const bool read = std::ranges::find(unused, key, &UnusedKey::key) == unused.end();
        return read ? std::optional(value) : std::nullopt;
    };
    const ModelInfo info = plan.model.info();
    const std::int64_t parts = std::max<std::int64_t>(1, recipe.optim.accumulate);
    return {.model = info.name,
            .params = info.params,
            .image_height = info.image_height,
            .image_width = info.image_width,
            .classes = plan.data.train->classes().size(),
            .train_images = plan.data.train->size(),
            .val_images = plan.data.val ? plan.data.val->size() : 0,
            .train_data = recipe.data.train,
            .val_data = plan.data.val_text,
            .epochs = plan.epochs,
            .steps_per_epoch = plan.steps_per_epoch,
            .batch = whole,
            .last_batch = plan.last_batch,
            .left_out = plan.left_out,
            .teacher = plan.step->objective().teacher(),
            .parts = parts,
            .lr = scaled_lr(recipe.optim, whole),
            .warmup_lr = if_read("schedule.warmup_lr", ends.warmup_lr),
            .min_lr = if_read("schedule.min_lr", ends.min_lr),
            .threads = at::get_num_threads(),
            .processes = int(plan.place.world),
            .precision = recipe.train.precision,
            .isa = std::string(isa_name(used_isa())),
            .memory = plan.memory ? plan.memory->peak((plan.samples + parts - 1) / parts) : 0,
            .folder = folder,
            .text = text_facts(plan)};
}

}  // namespace cait
