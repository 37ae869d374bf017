// What a classifier got right and wrong, collected image by image. Parts that were collected by
// several processes are merged, and the result is the same as that of one process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cait/scores.h"
#include "models/top_answers.h"

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
inline constexpr std::size_t kAnswers = 5;  // that are kept of every image

class Metrics {
public:
    // `worst`: how many of the most confident mistakes are kept.
    explicit Metrics(std::size_t classes, std::size_t worst = 24);

    // One image's logits, (classes), and its right answers. With several answers any of them is
    // right, as in "Are we done with ImageNet?" (Beyer et al. 2020), and an image with none is
    // left out. Returns the predicted class: the largest logit, of equals the first. Throws Error
    // when a logit is not finite or a label is no class.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels);
    std::int64_t add(std::size_t index, std::span<const float> logits, std::int64_t label) {
        return add(index, logits, std::span(&label, 1));
    }

    // Throws Error when the other one has other classes.
    void merge(const Metrics& other);

    std::size_t classes() const { return per_class_.size(); }
    std::uint64_t images() const { return images_; }          // that count
    std::uint64_t unlabelled() const { return unlabelled_; }  // left out: no right answer
    bool several_labels() const { return several_labels_; }   // of some image

    double top1() const { return fraction(correct_); }
    double top5() const { return fraction(within_five_); }
    // Mean of -log(probability that the answer is right); with one label the cross-entropy.
    double loss() const { return images_ == 0 ? 0 : loss_sum_ / double(images_); }
    // Expected calibration error (Guo et al. 2017): how far confidence and accuracy lie apart.
    double ece() const;
    Scores scores() const;               // top1, top5, loss, ece
    double mean_class_accuracy() const;  // over the classes that have images

    // Where an image has several labels it counts for the predicted one if that is among them,
    // otherwise for the first.
    const std::vector<ClassCount>& per_class() const { return per_class_; }
    // Bin i has confidences above i / 15, up to and with (i + 1) / 15.
    const std::array<ReliabilityBin, kReliabilityBins>& reliability() const { return bins_; }
    std::uint64_t count(std::int64_t label, std::int64_t predicted) const;
    std::vector<Confusion> confusions() const;  // most frequent first, then by label
    std::vector<Mistake> worst() const;         // most confident first, then by index

    // The likeliest classes, at most kAnswers, of the image that add() was given as number
    // `position`. They stay in the process that collected them: pack() and merge() leave them out.
    std::span<const RankedClass> answers(std::size_t position) const;

    // For sending to another process of the same machine type; unpack throws Error for other bytes.
    std::vector<std::byte> pack() const;
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
    std::vector<RankedClass> answers_;  // (images added, min(kAnswers, classes))
    std::size_t worst_limit_;
    std::vector<Mistake> worst_;  // a heap whose top is the least confident
};

}  // namespace cait
