// The arguments of `cait eval`, and what is done with the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "evaluate/disagreement.h"
#include "evaluate/evaluation.h"
#include "evaluate/neighbour_evaluation.h"
#include "executor.h"
#include "models/open_model.h"
#include "report/report.h"
#include "search_options.h"
#include "segment_options.h"

namespace cait::app {

// What --knn and --retrieval ask for: features judged by their neighbours, not answers by labels.
struct NeighbourArguments : NeighbourQuestion {  // but for the data, which is that of --data
    std::string tap = "features";

    bool asked() const { return !knn.empty() || !retrieval.empty(); }
};

struct EvalArguments {
    ModelOptions model;
    std::string weights;
    std::string data;
    std::vector<std::string> compare;  // FILE or NAME=FILE
    ExecutorOptions executor;
    int threads = 1;
    std::string tta = "none";
    std::string fusion = "logits";
    bool per_class = false;
    bool skip_bad = false;
    bool json = false;
    std::string classes;      // file with names
    std::string report;       // file to write
    std::string predictions;  // file to write
    std::string detections;   // file to write
    NeighbourArguments neighbours;
    SegmentArguments segment;
    SearchOptions search;     // of a model that translates
    PublishedText published;  // likewise
};

// The models: that of --weights first, then those of --compare.
using EvalModels = std::vector<FoundModel>;
void evaluate(const EvalArguments& arguments, const EvalModels& found);
void evaluate_neighbours(const EvalArguments& arguments, const EvalModels& found);  // --knn …

void print_neighbours(const EvalArguments& arguments, const std::vector<NeighbourResult>& results);

// One model's result.
struct Evaluated {
    std::string name;  // NAME of NAME=FILE or the file's, made unique
    std::string weights;
    std::string epoch;  // of a run: "best epoch (8), chosen on …"; empty where that is not known
    ModelInfo info;
    Preprocessing preprocessing;
    Evaluation evaluation;
    std::size_t skipped = 0;  // unreadable images
    double seconds = 0;
    DatasetPtr dataset;  // with labels into the model's classes
    // Of a model that segments or detects: how images were looked at, the worst of them (the
    // pictures only for a report) and the colours of its classes.
    std::string looked = {};
    std::string mode = {};  // of a model that segments: "whole" or "slide"
    std::string worst_by = {};                                      // "miou", "f1"
    std::vector<std::pair<std::string, double>> worst_images = {};  // name, that score
    std::vector<ReportSegment> segments = {};
    std::vector<Colour> colours = {};
    std::vector<ReportSentence> sentences = {}, examples = {};  // of one that translates
    std::vector<ReportLength> lengths = {};
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
    const Measure* measure = nullptr;
};
std::vector<HeadScore> head_scores(const Evaluation& evaluation);  // empty where there is one head

// Of a model that gives each pixel a class.
Evaluated evaluate_segments_of(const EvalArguments& arguments, const std::string& file,
                               const Model& model, const DatasetPtr& dataset);

// Of a model that finds objects. `detections`: the file of --detections, or empty.
Evaluated evaluate_detections_of(const EvalArguments& arguments, const std::string& file,
                                 const Model& model, const DatasetPtr& dataset,
                                 const std::string& detections);

// Of a model that translates.
Evaluated evaluate_translations_of(const EvalArguments& arguments, const std::string& file,
                                   const Model& model, const DatasetPtr& dataset);
void check_translator(const EvalArguments& arguments);  // throws UsageError

void print_evaluation(const EvalArguments& arguments, const EvalResult& result);
void write_predictions(const std::string& file, const Evaluated& one);
void write_eval_report(const EvalArguments& arguments, const EvalResult& result);

}  // namespace cait::app
