// What `cait eval` does with a model that detects: boxes and masks instead of labels.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "data.h"
#include "detect_options.h"
#include "eval.h"
#include "evaluate/coco_results.h"
#include "evaluate/segment_classes.h"
#include "models/catalogue.h"
#include "output.h"
#include "progress.h"
#include "report/worst_images.h"

namespace cait::app {

namespace {

std::string looked_text(const DetectOptions& options) {
    return fmt::format("short side {}, long side at most {}, scores from {:g}, at most {} an image",
                       options.short_side, options.long_side, options.threshold, options.most);
}

}  // namespace

Evaluated evaluate_detections_of(const EvalArguments& arguments, const std::string& file,
                                 const Model& model, const DatasetPtr& dataset,
                                 const std::string& detections) {
    Progress progress("eval", "images");
    std::unique_ptr<Executor> executor;
    ExecutorOptions running = arguments.executor;
    if (running.batch == ExecutorOptions::kBySize) running.batch = 1;
    DetectOptions looking = detect_options(arguments.segment, model.spec().name);
    looking.masks = dataset->has_object_masks() || !detections.empty();
    const ImageDetector detector = make_detector(model, looking, running, executor);
    std::optional<CocoResults> results;
    if (!detections.empty()) results.emplace(detections, dataset->class_numbers());
    EvaluateDetectionsOptions options{.skip_bad = arguments.skip_bad};
    options.progress = [&](std::size_t done) { progress.update(done, dataset->size()); };
    if (results)
        options.found = [&](std::size_t index, const std::vector<DetectedObject>& found) {
            results->add(dataset->image_number(index), found);
        };
    const auto start = std::chrono::steady_clock::now();
    DetectionsEvaluation found = evaluate_detections(detector, *dataset, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (results) results->finish();
    for (const BadImage& bad : found.bad) print_error("note: left out: {}\n", bad.reason);
    if (detector.network().masks && !found.scores->has_masks())
        print_error("note: {} has no masks: those of the model are not judged\n",
                    dataset->source());
    Evaluated result{.name = {},
                     .weights = file,
                     .epoch = {},
                     .info = model.info(),
                     .preprocessing = model.preprocessing(),
                     .evaluation = {found.scores, found.indices, {}, {}},
                     .skipped = found.bad.size(),
                     .seconds = taken.count(),
                     .dataset = dataset};
    result.looked = looked_text(detector.options());
    if (!arguments.report.empty()) {
        result.colours = segment_classes(model, detector.network().classes).colours;
        result.segments = worst_detections(*dataset, detector, found.worst, found.threshold,
                                           found.scores->has_masks(), result.colours);
    }
    result.worst_by = "f1";
    for (const WorstDetection& worst : found.worst)
        result.worst_images.emplace_back(dataset->name(worst.index), worst.f1);
    return result;
}

}  // namespace cait::app
