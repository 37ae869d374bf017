// The arguments of `cait predict`, and what is done with them.
#pragma once

#include "executor.h"
#include "pictures.h"
#include "prediction_output.h"
#include "segment_options.h"

namespace cait::app {

struct PredictArguments {
    ModelOptions model;
    std::string weights;
    std::string classes;  // file with names
    PictureArguments pictures;
    ExecutorOptions executor;
    int threads = 1;                  // that read images
    std::optional<std::size_t> top;   // none: as many as the model's task shows
    std::optional<double> threshold;  // none: the model's own
    std::string tta = "none";
    bool json = false, jsonl = false, csv = false;
    std::string output;  // file; empty: stdout
    // Of a model that segments.
    SegmentArguments segment;
    std::string labels;    // folder; empty: none
    std::string overlays;  // of one that detects, too
    std::string coco;      // file, of a model that detects

    AnswerFormat format() const {
        return json    ? AnswerFormat::json
               : jsonl ? AnswerFormat::jsonl
               : csv   ? AnswerFormat::csv
                       : AnswerFormat::lines;
    }
};

void run(const PredictArguments& arguments, const Invocation& invocation);
// With a model that gives each pixel a class.
void predict_segments(const PredictArguments& arguments, const Model& model,
                      const Invocation& invocation);
// With a model that finds objects.
void predict_detections(const PredictArguments& arguments, const Model& model,
                        const Invocation& invocation);

}  // namespace cait::app
