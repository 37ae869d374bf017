// Average precision of boxes and of masks, as COCO counts it (pycocotools' twelve numbers each).
// Masks are compared when their image is added, and not kept.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/object.h"
#include "evaluate/average_precision.h"
#include "evaluate/detect_image.h"
#include "evaluate/measure.h"

namespace cait {

// A box that counts, at an overlap of a half.
struct JudgedBox {
    float score = 0;
    bool right = false;
};

class DetectionScores final : public Measure {
public:
    DetectionScores(std::size_t classes, bool masks);

    // One image. `number` is its own in the whole data set, whoever looks at it: it decides the
    // order of equal scores. Detections may come in any order; of each class the best hundred
    // count. Throws Error for labels that are no class and scores that are not finite.
    void add(std::int64_t number, std::span<const DetectedObject> found,
             std::span<const Object> annotated, std::int64_t width, std::int64_t height);
    // The same, numbered in the order of the calls.
    void add(std::span<const DetectedObject> found, std::span<const Object> annotated,
             std::int64_t width, std::int64_t height);
    // A detector has no logits of a whole image: throws Error.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;
    // One that has no images yet takes over whether there are masks; else both have to agree.
    void merge(const DetectionScores& other);

    AveragePrecision boxes() const { return average_precision(boxes_); }
    AveragePrecision masks() const { return average_precision(of_masks_); }
    bool has_masks() const { return masks_; }

    std::uint64_t objects() const;  // annotated, without crowds
    std::vector<JudgedBox> judged_boxes() const;
    // Precision of boxes, or of masks, at recalls of 0, 0.01, … 1: the mean over the annotated
    // classes. Empty where there are none. `overlap`: its place among 0.5, 0.55, … 0.95.
    std::vector<double> precision_curve(bool of_masks, std::size_t overlap) const;

    std::size_t classes() const override { return classes_; }
    std::uint64_t images() const override { return images_; }

    Scores scores() const override;  // box_ap, box_ap50, …, mask_ap, …; -1: nothing of that kind
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override;
    std::vector<ClassRow> class_rows() const override;  // box_ap, mask_ap, objects

    void tell(MeasureDetails& details) const override { details.boxes(*this); }

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override;

private:
    std::size_t classes_;
    bool masks_;
    std::uint64_t images_ = 0;
    std::vector<ClassEvidence> boxes_;     // (classes)
    std::vector<ClassEvidence> of_masks_;  // (classes), empty without masks
};

}  // namespace cait
