// Shows the images of a data set to a detector and compares what it finds with what is annotated.
// Images may have any size; one is in memory while the next is read.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "data/bad_images.h"
#include "data/dataset.h"
#include "evaluate/detect_image.h"
#include "evaluate/detection_scores.h"

namespace cait {

struct EvaluateDetectionsOptions {
    bool skip_bad = false;   // leave out up to 5 % of unreadable images; otherwise the first throws
    std::size_t worst = 12;  // so many of the worst images are kept
    std::function<void(std::size_t images)> progress = {};
    // Gets what is found in each image, in order: for writing results.
    std::function<void(std::size_t index, const std::vector<DetectedObject>& found)> found = {};
};

struct WorstDetection {
    std::size_t index = 0;  // of the image
    double f1 = 0;          // of boxes that overlap by half, at the best threshold for all images
};

struct DetectionsEvaluation {
    std::shared_ptr<DetectionScores> scores;
    std::vector<std::size_t> indices;   // images that count, in order
    std::vector<WorstDetection> worst;  // the worst first
    double threshold = 0;               // least score at which F1 of all images is best
    std::vector<BadImage> bad;          // that were left out
};

// Masks are judged where both the detector and the data set have them. Throws Error where the data
// set does not say what is where.
DetectionsEvaluation evaluate_detections(const ImageDetector& detector, const Dataset& dataset,
                                         const EvaluateDetectionsOptions& options = {});

}  // namespace cait
