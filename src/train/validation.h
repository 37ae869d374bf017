// Validation in the course of a run: what measures it, what it yields, and which epoch is the best.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evaluate/measure.h"
#include "report/report.h"
#include "train/run/run_state.h"
#include "train/run_plan.h"

namespace cait {

// Throws UsageError, listing the names there are, where save.best names no score of a validation.
void check_followed(const Recipe& recipe, bool averaged);

struct Validation {
    MeasurePtr measure;
    // Of the first process, where pictures were asked for and a model segments or detects: its
    // worst images, drawn, and the colours of the classes in them.
    std::vector<ReportSegment> worst = {};
    std::vector<Colour> colours = {};
};

struct ValidationOptions {
    bool pictures = false;
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// By the classifier, or where none learns by the nearest training images. Every process has its
// share of the work, and all get the same measure. Throws NonFiniteLogits where an answer is not
// finite.
Validation validate(const RunPlan& plan, const TorchTensors& weights, ProcessGroup& group,
                    const ValidationOptions& options);

// Whether these are better than the best so far, by what save.best names; then they are the best.
bool improves(const Recipe& recipe, const Scores& scores, const Scores& of_average,
              std::uint64_t epoch, BestSoFar& best);

// For model files: "top1", "val_loss" and so on.
std::map<std::string, std::string> validation_facts(const Measure& measure,
                                                    const TrainingData& data);

}  // namespace cait
