// What `cait eval` does with a model that detects: boxes and masks instead of labels.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "data.h"
#include "detect_options.h"
#include "eval.h"
#include "evaluate/coco_results.h"
#include "evaluate/evaluate_detections.h"
#include "evaluate/segment_classes.h"
#include "image/draw/box_outline.h"
#include "image/draw/draw.h"
#include "image/draw/palette.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

constexpr std::int64_t kBoxesSide = 320;

// In colour, for the page: boxes in the colours of their classes are drawn before it shrinks.
Image in_colour(const Image& image) {
    Image canvas = Image::blank(image.width, image.height, 3);
    paste(canvas, image, 0, 0);
    return canvas;
}

// Lines that are still seen when the picture is as small as on the page.
std::int64_t line_width(const Image& canvas) {
    const std::int64_t side = std::max(canvas.width, canvas.height);
    return std::max(outline_width(canvas), (2 * side + kBoxesSide - 1) / kBoxesSide);
}

Image annotated_picture(const Image& image, const std::vector<Object>& objects, bool masks,
                        const std::vector<Colour>& colours) {
    constexpr Colour kCrowd{128, 128, 128};
    Image canvas = in_colour(image);
    for (const Object& object : objects) {
        const Colour colour = object.crowd ? kCrowd : colours.at(std::size_t(object.label));
        if (masks && !object.mask.empty())
            tint_mask(canvas, object_mask(object, image.width, image.height), colour);
        draw_box(canvas, object.box, colour, line_width(canvas));
    }
    return fitted(canvas, kBoxesSide);
}

Image found_picture(const Image& image, const std::vector<DetectedObject>& found, double threshold,
                    const std::vector<Colour>& colours) {
    Image canvas = in_colour(image);
    for (const DetectedObject& object : found) {
        if (double(object.score) < threshold) continue;
        const Colour colour = colours.at(std::size_t(object.label));
        if (!object.mask.runs.empty()) tint_mask(canvas, object.mask, colour);
        draw_box(canvas,
                 {double(object.box.left), double(object.box.top), double(object.box.right),
                  double(object.box.bottom)},
                 colour, line_width(canvas));
    }
    return fitted(canvas, kBoxesSide);
}

ReportSegment shown_objects(const Dataset& dataset, const ImageDetector& detector,
                            const DetectionsEvaluation& evaluation,
                            const std::vector<Colour>& colours, const WorstDetection& worst) {
    ReportSegment shown{.name = dataset.name(worst.index),
                        .value = worst.f1,
                        .score = fmt::format("F1 at scores from {:.2f}", evaluation.threshold)};
    try {
        const Image image = dataset.image(worst.index);
        shown.labelled = annotated_picture(image, dataset.objects(worst.index),
                                           evaluation.scores->has_masks(), colours);
        shown.predicted =
            found_picture(image, detector.detect(image, shown.name), evaluation.threshold, colours);
    } catch (const Error&) {  // changed since the evaluation: the page goes without
        shown.labelled = shown.predicted = {};
    }
    return shown;
}

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
        for (const WorstDetection& worst : found.worst)
            result.segments.push_back(
                shown_objects(*dataset, detector, found, result.colours, worst));
    }
    result.worst_by = "f1";
    for (const WorstDetection& worst : found.worst)
        result.worst_images.emplace_back(dataset->name(worst.index), worst.f1);
    return result;
}

}  // namespace cait::app
