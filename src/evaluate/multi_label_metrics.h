// What a model got right and wrong where an image has any number of classes, also none.
#pragma once

#include "evaluate/measure.h"

namespace cait {

// Decisions on one class.
struct LabelCounts {
    std::uint64_t positives = 0;  // images that have the class
    std::uint64_t answers = 0;    // images that were said to have it
    std::uint64_t hits = 0;       // both
    double precision() const { return answers == 0 ? 0 : double(hits) / double(answers); }
    double recall() const { return positives == 0 ? 0 : double(hits) / double(positives); }
    double f1() const {
        return positives + answers == 0 ? 0 : 2 * double(hits) / double(positives + answers);
    }
};

// Average precision as scikit-learn's average_precision_score has it: the sum over the distinct
// scores, from the highest, of precision times what recall gains. `scores` and `positive` are of
// the same images; 0 where none is positive.
double average_precision(std::span<const float> scores, std::span<const std::uint8_t> positive);

// Average precision needs every score, so it keeps five bytes for each image and class.
class MultiLabelMetrics final : public Measure {
public:
    MultiLabelMetrics(std::size_t classes, Task task);  // a class counts from task.threshold on

    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;

    std::size_t classes() const override { return counts_.size(); }
    std::uint64_t images() const override { return images_; }

    // Mean of the average precisions of the classes that some image has.
    double mean_average_precision() const;
    double f1() const;        // over all decisions
    double macro_f1() const;  // mean over the classes that some image has
    double exact_match() const { return share(exact_); }  // images with all decisions right
    double loss() const;  // binary cross-entropy, mean over images and classes
    std::size_t classes_without_positives() const;

    Scores scores() const override;  // map, f1, macro_f1, exact_match, loss
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override;
    std::vector<ClassRow> class_rows() const override;
    const std::vector<LabelCounts>& per_class() const { return counts_; }
    double average_precision_of(std::size_t label) const;

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override;

private:
    double share(std::uint64_t part) const {
        return images_ == 0 ? 0 : double(part) / double(images_);
    }

    Task task_;
    std::uint64_t images_ = 0, exact_ = 0;
    double loss_sum_ = 0;
    std::vector<LabelCounts> counts_;     // (classes)
    std::vector<float> logits_;           // (images, classes)
    std::vector<std::uint8_t> positive_;  // (images, classes)
};

}  // namespace cait
