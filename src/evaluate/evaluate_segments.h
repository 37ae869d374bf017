// Shows the images of a data set to a segmenter and compares what it answers with their label
// images. Images may have any size; one is in memory while the next is read.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "data/bad_images.h"
#include "data/dataset.h"
#include "evaluate/segment_image.h"
#include "evaluate/segmentation_scores.h"

namespace cait {

struct EvaluateSegmentsOptions {
    bool skip_bad = false;   // leave out up to 5 % of unreadable images; otherwise the first throws
    std::size_t worst = 12;  // number of the worst images that are kept
    std::function<void(std::size_t images)> progress = {};
};

struct WorstSegment {
    std::size_t index = 0;  // of the image
    double miou = 0;        // over the classes that are labelled or predicted in it
};

struct SegmentsEvaluation {
    std::shared_ptr<SegmentationScores> scores;
    std::vector<std::size_t> indices;  // images that count, in order
    std::vector<WorstSegment> worst;   // the worst first
    std::vector<BadImage> bad;         // that were left out
};

// The label images have the segmenter's classes. Throws Error where an image's label image has
// another size.
SegmentsEvaluation evaluate_segments(const ImageSegmenter& segmenter, const Dataset& dataset,
                                     const EvaluateSegmentsOptions& options = {});

}  // namespace cait
