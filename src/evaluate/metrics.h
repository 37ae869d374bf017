// What a classifier that answers with one class got right and wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "evaluate/measure.h"

namespace cait {

struct Mistake {
    std::size_t index = 0;  // in the data set
    std::int64_t label = 0;
    std::int64_t predicted = 0;
    double confidence = 0;  // softmax probability of `predicted`
    bool operator==(const Mistake&) const = default;
};

struct ClassCount {
    std::uint64_t images = 0;
    std::uint64_t correct = 0;
    double accuracy() const { return images == 0 ? 0 : double(correct) / double(images); }
};

// Images of `label` that were taken for `predicted`, another class.
struct Confusion {
    std::int64_t label = 0;
    std::int64_t predicted = 0;
    std::uint64_t count = 0;
    bool operator==(const Confusion&) const = default;
};

// Predictions whose confidence lies in one stretch of 0 to 1.
struct ReliabilityBin {
    std::uint64_t images = 0;
    std::uint64_t correct = 0;
    double confidence_sum = 0;
    double accuracy() const { return images == 0 ? 0 : double(correct) / double(images); }
    double confidence() const { return images == 0 ? 0 : confidence_sum / double(images); }
};

inline constexpr std::size_t kReliabilityBins = 15;

class Metrics final : public Measure {
public:
    // `worst`: how many of the most confident mistakes are kept.
    explicit Metrics(std::size_t classes, std::size_t worst = 24);

    // With several answers any of them is right, as in "Are we done with ImageNet?" (Beyer et al.
    // 2020), and an image with none is left out. The strongest class is the predicted one.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;
    std::int64_t add(std::size_t index, std::span<const float> logits, std::int64_t label) {
        return add(index, logits, std::span(&label, 1));
    }

    // Throws Error when the other one has other classes.
    void merge(const Metrics& other);

    std::size_t classes() const override { return per_class_.size(); }
    std::uint64_t images() const override { return images_; }
    std::uint64_t unlabelled() const { return unlabelled_; }  // left out: no right answer
    bool several_labels() const { return several_labels_; }   // of some image

    double top1() const { return fraction(correct_); }
    double top5() const { return fraction(within_five_); }
    // Mean of -log(probability that the answer is right); with one label the cross-entropy.
    double loss() const { return images_ == 0 ? 0 : loss_sum_ / double(images_); }
    // Expected calibration error (Guo et al. 2017): how far confidence and accuracy lie apart.
    double ece() const;
    Scores scores() const override;  // top1, top5, loss, ece
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override { return "accuracy   correct/images  class"; }
    std::vector<ClassRow> class_rows() const override;
    void tell(MeasureDetails& details) const override { details.one_class(*this); }
    double mean_class_accuracy() const;  // over the classes that have images

    // Where an image has several labels it counts for the predicted one if that is among them,
    // otherwise for the first.
    const std::vector<ClassCount>& per_class() const { return per_class_; }
    // Bin i has confidences above i / 15, up to and with (i + 1) / 15.
    const std::array<ReliabilityBin, kReliabilityBins>& reliability() const { return bins_; }
    std::uint64_t count(std::int64_t label, std::int64_t predicted) const;
    std::vector<Confusion> confusions() const;  // most frequent first, then by label
    std::vector<Mistake> worst() const;         // most confident first, then by index

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override { merge(unpack(bytes)); }
    // Throws Error for bytes that pack() did not make.
    static Metrics unpack(std::span<const std::byte> bytes);

private:
    double fraction(std::uint64_t part) const {
        return images_ == 0 ? 0 : double(part) / double(images_);
    }
    void keep(const Mistake& mistake);

    std::uint64_t images_ = 0, unlabelled_ = 0, correct_ = 0, within_five_ = 0;
    double loss_sum_ = 0;
    bool several_labels_ = false;
    std::vector<ClassCount> per_class_;
    std::array<ReliabilityBin, kReliabilityBins> bins_{};
    // label * classes + predicted → images, without the diagonal: as large as there are mistakes,
    // where a table for iNaturalist's 8142 classes would take half a gigabyte.
    std::unordered_map<std::uint64_t, std::uint64_t> confusions_;
    std::size_t worst_limit_;
    std::vector<Mistake> worst_;  // a heap whose top is the least confident
};

}  // namespace cait
