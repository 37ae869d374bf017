// What collects a model's answers, image by image, and turns them into named numbers. Training,
// `cait eval`, the report and the library know only this interface; a task has a measure of its own
// (make_measure). Parts that were collected by several processes are merged, and the result is the
// same as that of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/scores.h"
#include "models/top_answers.h"

namespace cait {

class DetectionScores;
class Metrics;

inline constexpr std::size_t kAnswers = 5;  // that are kept of every image

// A score as `cait eval` prints it, with a word on what it means. Those that are not `main` are for
// scripts only.
struct ShownScore {
    Score score;
    std::string remark = {};
};

// What is known of one class.
struct ClassRow {
    Scores scores;       // for scripts
    std::string text;    // for people, under class_header()
    double value = 0;    // by which classes are ordered, the worst first
    bool counts = true;  // false: there is nothing to show of it
};

// What only measures of one kind have. A measure calls the function of its kind, if it is here;
// those who show such details override what they know, and nobody asks a measure what it is.
class MeasureDetails {
public:
    virtual ~MeasureDetails() = default;
    // Of answers of one class each: confusions, mistakes, reliability.
    virtual void one_class(const Metrics& /*metrics*/) {}
    // Of boxes: precision by recall, by size.
    virtual void boxes(const DetectionScores& /*scores*/) {}
};

class Measure {
public:
    virtual ~Measure() = default;

    // One image's logits, (classes), and its right answers. Returns its strongest class: the
    // largest logit, of equals the first. Throws Error when a logit is not finite or a label is no
    // class.
    virtual std::int64_t add(std::size_t index, std::span<const float> logits,
                             std::span<const std::int64_t> labels) = 0;

    virtual std::size_t classes() const = 0;
    virtual std::uint64_t images() const = 0;                 // that count
    virtual std::string counted() const { return "images"; }  // what these are

    virtual Scores scores() const = 0;                  // of records; the first says most
    virtual std::vector<ShownScore> shown() const = 0;  // of `cait eval` and evaluate()
    virtual std::string class_header() const = 0;
    virtual std::vector<ClassRow> class_rows() const = 0;  // one per class

    // For sending to another process of the same machine type; merge_packed throws Error for other
    // bytes and for other classes.
    virtual std::vector<std::byte> pack() const = 0;
    virtual void merge_packed(std::span<const std::byte> bytes) = 0;

    virtual void tell(MeasureDetails& /*details*/) const {}

    // The likeliest classes, at most kAnswers, of the image that add() was given as number
    // `position`. They stay in the process that collected them: merging leaves them out.
    std::span<const RankedClass> answers(std::size_t position) const;

protected:
    Measure() = default;
    Measure(const Measure&) = default;
    Measure& operator=(const Measure&) = default;

    // For add(): checks what it was given and keeps the answers. Returns the strongest class.
    std::int64_t take(std::size_t index, std::span<const float> logits,
                      std::span<const std::int64_t> labels, const Task& task);

private:
    std::vector<RankedClass> answers_;  // (images added, min(kAnswers, classes))
};

// The classes that there is something to show of, by number.
std::vector<std::size_t> worst_first(const std::vector<ClassRow>& rows);

using MeasurePtr = std::shared_ptr<Measure>;

// That of the task. `worst`: how many of the most confident mistakes are kept.
MeasurePtr make_measure(const Task& task, std::size_t classes, std::size_t worst = 24);

// The score that says most about the task, which runs and studies go by unless they name another:
// "top1", "miou".
std::string leading_score(const Task& task);

}  // namespace cait
