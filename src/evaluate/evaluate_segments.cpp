#include "evaluate/evaluate_segments.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "evaluate/read_ahead.h"

namespace cait {

namespace {

struct LabelledImage {
    Image image;
    LabelImage labels;
};

LabelledImage read_labelled(const Dataset& dataset, std::size_t index) {
    LabelledImage one{dataset.image(index), {}};
    one.labels = label_image_of(dataset, index, one.image);
    return one;
}

void keep_worst(std::vector<WorstSegment>& worst, WorstSegment one, std::size_t most) {
    const auto place =
        std::ranges::upper_bound(worst, one.miou, {}, [](const WorstSegment& w) { return w.miou; });
    worst.insert(place, one);
    if (worst.size() > most) worst.pop_back();
}

}  // namespace

SegmentsEvaluation evaluate_segments(const ImageSegmenter& segmenter, const Dataset& dataset,
                                     const EvaluateSegmentsOptions& options) {
    if (!dataset.has_label_images())
        throw Error(
            fmt::format("{}: expected a data set with label images, such as "
                        "segmentation:FOLDER",
                        dataset.source()));
    const std::size_t classes = segmenter.network().classes;
    SegmentsEvaluation result;
    result.scores = std::make_shared<SegmentationScores>(classes);
    const auto look = [&](std::size_t i, const LabelledImage& one) {
        const SegmentedImage found = segmenter.segment(one.image, dataset.name(i));
        SegmentationScores alone(classes);
        alone.add(found.labels.values, one.labels.values);
        result.scores->merge(alone);
        result.indices.push_back(i);
        if (alone.pixels() > 0) keep_worst(result.worst, {i, alone.miou()}, options.worst);
        if (options.progress) options.progress(i + 1);
    };
    result.bad = read_ahead(
        dataset, options.skip_bad, [&](std::size_t i) { return read_labelled(dataset, i); }, look);
    return result;
}

}  // namespace cait
