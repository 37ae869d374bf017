#include "evaluate/evaluate_detections.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "evaluate/read_ahead.h"

namespace cait {

namespace {

struct AnnotatedImage {
    Image image;
    std::vector<Object> objects;
};

AnnotatedImage read_annotated(const Dataset& dataset, std::size_t index) {
    return {dataset.image(index), dataset.objects(index)};
}

// What F1 is made of.
struct BoxCounts {
    std::uint64_t objects = 0, found = 0, right = 0;

    void add(const JudgedBox& box) {
        ++found;
        if (box.right) ++right;
    }
    double f1() const {
        return objects + found == 0 ? 1 : 2 * double(right) / double(objects + found);
    }
};

struct SeenImage {
    std::size_t index;
    std::uint64_t objects;
    std::vector<JudgedBox> boxes;
};

// The score from which on all images together have the best F1.
double best_threshold(const std::vector<SeenImage>& images) {
    std::vector<JudgedBox> boxes;
    BoxCounts counts;
    for (const SeenImage& one : images) {
        boxes.insert(boxes.end(), one.boxes.begin(), one.boxes.end());
        counts.objects += one.objects;
    }
    std::ranges::sort(boxes, std::ranges::greater(), &JudgedBox::score);
    double best = -1, threshold = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        counts.add(boxes[i]);
        const bool last_of_score = i + 1 == boxes.size() || boxes[i + 1].score < boxes[i].score;
        if (last_of_score && counts.f1() > best) {
            best = counts.f1();
            threshold = double(boxes[i].score);
        }
    }
    return threshold;
}

std::vector<WorstDetection> worst_of(const std::vector<SeenImage>& images, double threshold,
                                     std::size_t most) {
    std::vector<WorstDetection> worst;
    for (const SeenImage& one : images) {
        BoxCounts counts{.objects = one.objects};
        for (const JudgedBox& box : one.boxes)
            if (double(box.score) >= threshold) counts.add(box);
        if (counts.objects + counts.found > 0) worst.push_back({one.index, counts.f1()});
    }
    std::ranges::stable_sort(worst, {}, &WorstDetection::f1);
    if (worst.size() > most) worst.resize(most);
    return worst;
}

}  // namespace

DetectionsEvaluation evaluate_detections(const ImageDetector& detector, const Dataset& dataset,
                                         const EvaluateDetectionsOptions& options) {
    if (!dataset.has_objects())
        throw Error(
            fmt::format("{}: expected a data set with the objects in each image, such as "
                        "coco:FILE.json?images=FOLDER",
                        dataset.source()));
    const std::size_t classes = detector.network().classes;
    const bool masks =
        detector.network().masks && detector.options().masks && dataset.has_object_masks();
    DetectionsEvaluation result;
    result.scores = std::make_shared<DetectionScores>(classes, masks);
    std::vector<SeenImage> seen;
    const auto look = [&](std::size_t i, const AnnotatedImage& one) {
        const std::vector<DetectedObject> found = detector.detect(one.image, dataset.name(i));
        DetectionScores alone(classes, masks);
        alone.add(dataset.image_number(i), found, one.objects, one.image.width, one.image.height);
        result.scores->merge(alone);
        result.indices.push_back(i);
        if (options.worst > 0) seen.push_back({i, alone.objects(), alone.judged_boxes()});
        if (options.found) options.found(i, found);
        if (options.progress) options.progress(i + 1);
    };
    result.bad = read_ahead(
        dataset, options.skip_bad, [&](std::size_t i) { return read_annotated(dataset, i); }, look);
    result.threshold = best_threshold(seen);
    result.worst = worst_of(seen, result.threshold, options.worst);
    return result;
}

}  // namespace cait
