#include "evaluate/evaluate_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "cait/error.h"

namespace cait {

namespace {

constexpr double kMostBadSegments = 0.05;  // of the images that may be left out

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
    BadImages bad(kMostBadSegments, dataset.size());
    // The next image is read while the network sees this one.
    const auto read = [&](std::size_t index) {
        return std::async(std::launch::async,
                          [&dataset, index] { return read_labelled(dataset, index); });
    };
    std::future<LabelledImage> next;
    if (dataset.size() > 0) next = read(0);
    for (std::size_t i = 0; i < dataset.size(); ++i) {
        std::future<LabelledImage> now = std::move(next);
        if (i + 1 < dataset.size()) next = read(i + 1);
        LabelledImage one;
        try {
            one = now.get();
        } catch (const Error& error) {
            if (!options.skip_bad) throw;
            bad.add(0, {i, dataset.name(i), error.what()});
            continue;
        }
        const SegmentedImage found = segmenter.segment(one.image, dataset.name(i));
        SegmentationScores alone(classes);
        alone.add(found.labels.values, one.labels.values);
        result.scores->merge(alone);
        result.indices.push_back(i);
        if (alone.pixels() > 0) keep_worst(result.worst, {i, alone.miou()}, options.worst);
        if (options.progress) options.progress(i + 1);
    }
    result.bad = bad.all();
    return result;
}

}  // namespace cait
