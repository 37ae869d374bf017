// Pictures of the images that a model segments or detects worst, as they are annotated and as the
// model sees them.
#pragma once

#include <span>
#include <vector>

#include "evaluate/evaluate_detections.h"
#include "evaluate/evaluate_segments.h"
#include "report/report.h"

namespace cait {

// An image that can no longer be read has no picture.
std::vector<ReportSegment> worst_segments(const Dataset& dataset, const ImageSegmenter& segmenter,
                                          std::span<const WorstSegment> worst,
                                          const std::vector<Colour>& colours);

// `threshold`: the least score of what is drawn. `masks`: whether those that are annotated are.
std::vector<ReportSegment> worst_detections(const Dataset& dataset, const ImageDetector& detector,
                                            std::span<const WorstDetection> worst, double threshold,
                                            bool masks, const std::vector<Colour>& colours);

}  // namespace cait
