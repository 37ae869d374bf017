// What `cait eval` does with a model that segments: label images instead of labels.
#include <fmt/format.h>

#include <chrono>

#include "data.h"
#include "eval.h"
#include "evaluate/evaluate_segments.h"
#include "evaluate/segment_classes.h"
#include "image/draw/draw.h"
#include "image/draw/palette.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

constexpr std::int64_t kOverlaySide = 320;

// Small enough for a page, with the labels of its pixels.
struct SmallSegments {
    Image image;
    std::vector<std::uint8_t> labels;
};

SmallSegments shrunk(const Image& image, const LabelImage& labels) {
    SmallSegments small{fitted(image, kOverlaySide), {}};
    const Image all{labels.width, labels.height, 1, labels.values};
    small.labels = scaled(all, small.image.width, small.image.height, Scaling::nearest).pixels;
    return small;
}

ReportSegment shown_segment(const Dataset& dataset, const ImageSegmenter& segmenter,
                            const std::vector<Colour>& colours, const WorstSegment& worst) {
    ReportSegment shown{.name = dataset.name(worst.index), .value = worst.miou};
    try {
        const Image image = dataset.image(worst.index);
        const SmallSegments label = shrunk(image, dataset.label_image(worst.index));
        const SmallSegments found = shrunk(image, segmenter.segment(image, shown.name).labels);
        shown.labelled = label_overlay(label.image, label.labels, colours);
        shown.predicted = label_overlay(found.image, found.labels, colours);
    } catch (const Error&) {  // changed since the evaluation: the page goes without
        shown.labelled = shown.predicted = {};
    }
    return shown;
}

}  // namespace

Evaluated evaluate_segments_of(const EvalArguments& arguments, const std::string& file,
                               const Model& model, const DatasetPtr& dataset) {
    Progress progress("eval", "images");
    std::unique_ptr<Executor> executor;
    ExecutorOptions running = arguments.executor;
    if (running.batch == ExecutorOptions::kBySize) running.batch = 4;  // windows together
    const ImageSegmenter segmenter = make_segmenter(model, arguments.segment, running, executor);
    const auto start = std::chrono::steady_clock::now();
    SegmentsEvaluation found = evaluate_segments(
        segmenter, *dataset, {.skip_bad = arguments.skip_bad, .progress = [&](std::size_t done) {
                                  progress.update(done, dataset->size());
                              }});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    for (const BadImage& bad : found.bad) print_error("note: left out: {}\n", bad.reason);
    Evaluated result{.name = {},
                     .weights = file,
                     .epoch = {},
                     .info = model.info(),
                     .preprocessing = model.preprocessing(),
                     .evaluation = {found.scores, std::move(found.indices), {}, {}},
                     .skipped = found.bad.size(),
                     .seconds = taken.count(),
                     .dataset = dataset};
    result.looked = arguments.segment.text(segmenter.options());
    result.mode = mode_name(segmenter.options().mode);
    if (!arguments.report.empty()) {
        const SegmentClasses classes = segment_classes(model, segmenter.network().classes);
        result.colours = classes.colours;
        for (const WorstSegment& worst : found.worst)
            result.segments.push_back(shown_segment(*dataset, segmenter, classes.colours, worst));
    }
    result.worst_by = "miou";
    for (const WorstSegment& worst : found.worst)
        result.worst_images.emplace_back(dataset->name(worst.index), worst.miou);
    return result;
}

}  // namespace cait::app
