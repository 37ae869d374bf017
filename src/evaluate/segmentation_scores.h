// How well predicted label images agree with annotated ones: a confusion matrix over all pixels of
// a data set, and the numbers that are made of it.
#pragma once

#include "evaluate/measure.h"

namespace cait {

// Of one class, over all labelled pixels.
struct ClassOverlap {
    std::uint64_t labelled = 0;   // pixels that have the class
    std::uint64_t predicted = 0;  // pixels that were said to have it
    std::uint64_t hits = 0;       // both
    std::uint64_t in_either() const { return labelled + predicted - hits; }
    double iou() const { return in_either() == 0 ? 0 : double(hits) / double(in_either()); }
    double accuracy() const { return labelled == 0 ? 0 : double(hits) / double(labelled); }
};

class SegmentationScores final : public Measure {
public:
    explicit SegmentationScores(std::size_t classes);  // 1 to 255

    // One image, or a part of one, pixel by pixel. A label of kIgnored leaves its pixel out
    // altogether. Throws Error where the two differ in size and for values that are no class.
    void add(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> labels);
    // A segmenter has no logits of a whole image: throws Error.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;
    void merge(const SegmentationScores& other);

    std::size_t classes() const override { return classes_; }
    std::uint64_t images() const override { return images_; }  // calls of add()
    std::uint64_t pixels() const;                              // that are labelled
    std::uint64_t confusions(std::size_t label, std::size_t predicted) const {
        return counts_[label * classes_ + predicted];
    }

    std::vector<ClassOverlap> per_class() const;
    double miou() const;  // mean over the classes that are labelled or predicted somewhere
    double macc() const;  // mean accuracy over the classes that are labelled somewhere
    double aacc() const;  // share of the pixels that are right

    Scores scores() const override;  // miou, macc, aacc
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override;
    std::vector<ClassRow> class_rows() const override;  // iou, accuracy, pixels

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override;

private:
    std::size_t classes_;
    std::uint64_t images_ = 0;
    std::vector<std::uint64_t> counts_;  // (label, predicted)
};

}  // namespace cait
