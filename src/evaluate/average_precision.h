// Average precision and recall of one class out of what is known of each found thing, as
// pycocotools' accumulate and summarize make them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/match_detections.h"

namespace cait {

inline constexpr std::size_t kRecallPoints = 101;

// COCO's twelve, -1 where nothing of that kind was annotated.
struct AveragePrecision {
    double ap = -1, ap50 = -1, ap75 = -1, ap_small = -1, ap_medium = -1, ap_large = -1;
    double ar1 = -1, ar10 = -1, ar100 = -1, ar_small = -1, ar_medium = -1, ar_large = -1;
};

// One found thing of a class, and where among the others it belongs.
struct JudgedDetection {
    float score = 0;
    std::uint32_t rank = 0;  // in its image, of its class; 0 is the best
    std::int64_t image = 0;  // decides among equal scores
    Judgement judgement;
};

// All that is kept of one class: 32 bytes for each found thing, however large its mask is.
struct ClassEvidence {
    std::array<std::uint64_t, kAreaRanges> objects{};  // annotated, by area range
    std::vector<JudgedDetection> found;

    void merge(const ClassEvidence& other);
};

// Precision at recalls of 0, 0.01, … 1 of all sizes. Empty where nothing was annotated.
std::vector<double> precision_by_recall(const ClassEvidence& evidence, std::size_t overlap);

// Means over the classes that were annotated.
AveragePrecision average_precision(std::span<const ClassEvidence> classes);

}  // namespace cait
