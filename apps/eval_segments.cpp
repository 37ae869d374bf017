// What `cait eval` does with a model that segments: label images instead of labels.
#include <fmt/format.h>

#include <chrono>

#include "data.h"
#include "eval.h"
#include "evaluate/segment_classes.h"
#include "output.h"
#include "progress.h"
#include "report/worst_images.h"

namespace cait::app {

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
        result.colours = segment_classes(model, segmenter.network().classes).colours;
        result.segments = worst_segments(*dataset, segmenter, found.worst, result.colours);
    }
    result.worst_by = "miou";
    for (const WorstSegment& worst : found.worst)
        result.worst_images.emplace_back(dataset->name(worst.index), worst.miou);
    return result;
}

}  // namespace cait::app
