// The arguments of `cait eval`, and what is done with the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "executor.h"
#include "measure/disagreement.h"
#include "measure/evaluation.h"

namespace cait::app {

struct EvalArguments {
    ModelOptions model;
    std::string weights;
    std::string data;
    std::vector<std::string> compare;  // FILE or NAME=FILE
    ExecutorOptions executor;
    int threads = 1;
    std::string tta = "none";
    std::string fusion = "logits";
    std::optional<double> crop_ratio;  // none: the model's
    std::string crop_mode;             // empty: the model's
    bool per_class = false;
    bool skip_bad = false;
    bool json = false;
    std::string classes;      // file with names
    std::string report;       // file to write
    std::string predictions;  // file to write
};

// What of --compare is published and not there yet: afterwards nothing can be fetched any more.
void fetch_compared(const EvalArguments& arguments);
void evaluate(const EvalArguments& arguments);

// One model's result.
struct Evaluated {
    std::string name;  // the file's, made unique
    std::string weights;
    std::string epoch;  // of a run: "best epoch (8), chosen on …"; empty where that is not known
    ModelInfo info;
    Preprocessing preprocessing;
    Evaluation evaluation;
    std::size_t skipped = 0;  // unreadable images
    double seconds = 0;
    DatasetPtr dataset;  // with labels into the model's classes
};

// The first one is that of --weights, the others those of --compare.
struct EvalResult {
    std::vector<Evaluated> models;
    // Where --weights is a run, whose best epoch is the first model, and its final one another.
    std::optional<Evaluated> final_epoch;
    std::optional<DisagreementTable> disagreement;
};

// A head of a model with two of them, and what is right of its answers alone.
struct HeadScore {
    std::string name;  // "class", "distillation"; "both" for what the model answers
    const Metrics* metrics = nullptr;
};
std::vector<HeadScore> head_scores(const Evaluation& evaluation);  // empty where there is one head

void print_evaluation(const EvalArguments& arguments, const EvalResult& result);
void write_predictions(const std::string& file, const Evaluated& one);
void write_eval_report(const EvalArguments& arguments, const EvalResult& result);

}  // namespace cait::app
