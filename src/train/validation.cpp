#include "train/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "engine/engine_executor.h"
#include "evaluate/evaluate.h"
#include "evaluate/evaluate_sentences.h"
#include "evaluate/evaluation_loader.h"
#include "evaluate/scores.h"
#include "evaluate/segment_classes.h"
#include "kernels/precision_names.h"
#include "models/finite_logits.h"
#include "report/worst_images.h"
#include "train/neighbour_judging.h"
#include "train/recipe/objective_rows.h"
#include "train/torch/convert.h"
#include "train/torch/torch_session.h"

namespace cait {

namespace {

// The engine where the weights are on the CPU, else LibTorch on their device. Sentences come in
// dozens of lengths, for each of which the engine would lay out memory of its own.
std::unique_ptr<Executor> executor_for(const RunPlan& plan, const TorchTensors& weights) {
    std::map<std::string, Tensor> shared;
    at::Device device = at::kCPU;
    for (const auto& [name, tensor] : weights) {
        device = tensor.device();
        shared[name] = share_torch(tensor.detach().cpu().contiguous());
    }
    const Model model = plan.model.with_weights(std::move(shared));
    const Precision precision = precision_of(plan.recipe.train.precision);
    if (device.is_cpu() && !plan.data.text)
        return std::make_unique<EngineExecutor>(
            model,
            SessionOptions{
                .precision = plan.recipe.train.quantize == "int8" ? Precision::int8 : precision,
                .threads = at::get_num_threads(),
                .batch = std::size_t(plan.recipe.data.val_batch)});
    return make_torch_session(model, precision, device.str());
}

MeasurePtr merged(const MeasurePtr& own, const Task& task, ProcessGroup& group) {
    if (group.world() == 1) return own;
    const std::vector<std::byte> packed = own->pack();
    const MeasurePtr all = make_measure(task, own->classes());
    for (const std::string& part :
         group.all_gather({reinterpret_cast<const char*>(packed.data()), packed.size()}))
        all->merge_packed(std::as_bytes(std::span(part)));
    return all;
}

constexpr std::size_t kWorstImages = 6;  // that the report of a run shows

// Of the validation images, those that this process looks at.
std::vector<std::size_t> share_of_images(const RunPlan& plan) {
    std::vector<std::size_t> share;
    for (std::size_t i = plan.place.rank; i < plan.data.val->size(); i += plan.place.world)
        share.push_back(i);
    return share;
}

// What is shown of the worst images, in the order of their scores, the worst first.
struct WorstOfAll {
    std::vector<std::size_t> images;  // in the validation set
    std::vector<double> scores;
};

// Of all processes, where each has looked at its share: everybody gets them all.
WorstOfAll worst_of_all(const std::vector<std::pair<double, std::size_t>>& own,
                        ProcessGroup& group) {
    std::string text;
    for (const auto& [score, image] : own) text += fmt::format("{} {}\n", score, image);
    std::vector<std::pair<double, std::size_t>> all;
    for (const std::string& part : group.all_gather(text)) {
        std::istringstream lines(part);
        for (std::pair<double, std::size_t> one; lines >> one.first >> one.second;)
            all.push_back(one);
    }
    std::ranges::sort(all);
    if (all.size() > kWorstImages) all.resize(kWorstImages);
    WorstOfAll worst;
    for (const auto& [score, image] : all) {
        worst.images.push_back(image);
        worst.scores.push_back(score);
    }
    return worst;
}

// Windows of the model's own size over each image of this process's share.
Validation validate_pixels(const RunPlan& plan, const Executor& executor, ProcessGroup& group,
                           const ValidationOptions& validation) {
    const std::vector<std::size_t> share = share_of_images(plan);
    SegmentOptions options;
    options.mode = SegmentOptions::Mode::slide;
    const ImageSegmenter segmenter(executor, SegmentNetwork::of(plan.model), options,
                                   std::size_t(plan.recipe.data.val_batch));
    SegmentsEvaluation found;
    if (share.empty())
        found.scores = std::make_shared<SegmentationScores>(plan.data.train->classes().size());
    else
        found = evaluate_segments(
            segmenter, *subset(plan.data.val, share),
            {.worst = validation.pictures ? kWorstImages : 0,
             .progress = [&](std::size_t done) { validation.progress(done, share.size()); }});
    Validation result{merged(found.scores, plan.model.task(), group)};
    if (!validation.pictures) return result;
    std::vector<std::pair<double, std::size_t>> own;
    for (const WorstSegment& one : found.worst) own.emplace_back(one.miou, share[one.index]);
    const WorstOfAll all = worst_of_all(own, group);
    if (!group.is_main()) return result;
    std::vector<WorstSegment> worst;
    for (std::size_t i = 0; i < all.images.size(); ++i)
        worst.push_back({all.images[i], all.scores[i]});
    result.colours = segment_classes(plan.model, segmenter.network().classes).colours;
    result.worst = worst_segments(*plan.data.val, segmenter, worst, result.colours);
    return result;
}

// What is found in each image of this process's share, at the size that a test has.
Validation validate_objects(const RunPlan& plan, const Executor& executor, ProcessGroup& group,
                            const ValidationOptions& validation) {
    const std::vector<std::size_t> share = share_of_images(plan);
    const DetectNetwork network = DetectNetwork::of(plan.model);
    const ImageDetector detector(executor, network, DetectOptions(), plan.place.threads);
    DetectionsEvaluation found;
    if (share.empty())
        found.scores = std::make_shared<DetectionScores>(network.classes, network.masks);
    else
        found = evaluate_detections(
            detector, *subset(plan.data.val, share),
            {.worst = validation.pictures ? kWorstImages : 0,
             .progress = [&](std::size_t done) { validation.progress(done, share.size()); }});
    Validation result{merged(found.scores, plan.model.task(), group)};
    if (!validation.pictures) return result;
    std::vector<std::pair<double, std::size_t>> own;
    for (const WorstDetection& one : found.worst) own.emplace_back(one.f1, share[one.index]);
    const WorstOfAll all = worst_of_all(own, group);
    if (!group.is_main()) return result;
    std::vector<WorstDetection> worst;
    for (std::size_t i = 0; i < all.images.size(); ++i)
        worst.push_back({all.images[i], all.scores[i]});
    result.colours = segment_classes(plan.model, network.classes).colours;
    result.worst = worst_detections(*plan.data.val, detector, worst, found.threshold,
                                    found.scores->has_masks(), result.colours);
    return result;
}

// All end together: the others would wait for the answers of the process that met them.
void agree_on(const std::string& problem, ProcessGroup& group) {
    for (const std::string& found : group.all_gather(problem))
        if (!found.empty()) throw NonFiniteLogits(found);
}

// How likely the translations of this process's share are.
Validation validate_sentences(const RunPlan& plan, const Executor& executor, ProcessGroup& group,
                              const ValidationOptions& validation) {
    auto scores = std::make_shared<TextScores>();
    std::string problem;
    if (const SentenceData& text = *plan.data.text; text.val) {
        TextLoader loader(text.val, validation_text(plan.recipe, text, plan.place.world));
        const std::size_t share = text.val->size();
        try {
            *scores = evaluate_sentences(executor, loader,
                                         [&](std::size_t done) { validation.progress(done, share); });
        } catch (const NonFiniteLogits& error) {
            problem = error.what();
        }
    }
    agree_on(problem, group);
    return {merged(scores, plan.model.task(), group)};
}

}  // namespace

void check_followed(const Recipe& recipe, bool averaged) {
    // Votes of neighbours are judged as logits are.
    const std::vector<std::string> names =
        names_to_follow(make_measure(task_of(recipe), 1)->scores(), averaged);
    if (std::ranges::find(names, recipe.save.best) == names.end())
        throw UsageError(fmt::format("save.best: expected one of {}; found '{}'",
                                     fmt::join(names, ", "), recipe.save.best));
}

Validation validate(const RunPlan& plan, const TorchTensors& weights, ProcessGroup& group,
                    const ValidationOptions& options) {
    const std::unique_ptr<Executor> executor = executor_for(plan, weights);
    if (judged_by_neighbours(plan.recipe))
        return {std::make_shared<Metrics>(judge_by_neighbours(
            *executor, plan.model, {plan.data.known, plan.data.val},
            neighbour_judging(plan.recipe, plan.place.threads, options.progress), group))};
    if (plan.data.text) return validate_sentences(plan, *executor, group, options);
    if (asks_for(plan.recipe.loss, &ObjectiveTerm::pixels))
        return validate_pixels(plan, *executor, group, options);
    if (asks_for(plan.recipe.loss, &ObjectiveTerm::objects))
        return validate_objects(plan, *executor, group, options);
    const auto loader = evaluation_loader(plan.data.val, plan.model.preprocessing(), plan.size,
                                          {.batch = std::size_t(plan.recipe.data.val_batch),
                                           .threads = plan.place.threads,
                                           .rank = plan.place.rank,
                                           .world = plan.place.world});
    const std::size_t share = plan.data.val->size() / plan.place.world;
    EvaluateOptions evaluating;
    evaluating.task = plan.model.task();
    evaluating.labels = plan.data.val.get();
    evaluating.progress = [&](std::size_t done) { options.progress(done, share); };
    MeasurePtr measure;
    std::string problem;
    try {
        measure =
            evaluate(*executor, plan.data.train->classes().size(), *loader, evaluating).measure;
    } catch (const NonFiniteLogits& error) {
        problem = error.what();
    }
    agree_on(problem, group);
    return {merged(measure, evaluating.task, group)};
}

bool improves(const Recipe& recipe, const Scores& scores, const Scores& of_average,
              std::uint64_t epoch, BestSoFar& best) {
    const std::string& by = recipe.save.best;
    const Scores& followed = is_of_average(by) && !of_average.empty() ? of_average : scores;
    const double value = merit(*find_score(followed, without_average(by)));
    if (best.any && value <= best.value) return false;
    best = {value, epoch, true};
    return true;
}

std::map<std::string, std::string> validation_facts(const Measure& measure,
                                                    const TrainingData& data) {
    std::map<std::string, std::string> facts{
        {"val_data", data.val_text},
        {"val_" + measure.counted(), std::to_string(measure.images())}};
    // A "loss" alone would be taken for that of training.
    for (const Score& score : main_scores(measure.scores()))
        facts[score.name == "loss" ? "val_loss" : score.name] = fmt::format("{:.4f}", score.value);
    return facts;
}

}  // namespace cait
