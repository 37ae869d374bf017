// report.html: one page that shows a run or an evaluation. It holds everything that it needs
// (drawings, pictures, style), asks no network for anything and runs no script.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "evaluate/disagreement.h"
#include "evaluate/metrics.h"
#include "image/image.h"
#include "image/ops/crop.h"
#include "report/metrics_log.h"
#include "system/file_place.h"

namespace cait {

struct ReportFact {
    std::string name;   // "model"
    std::string value;  // "cait_xxs24_224, 12.0 M parameters"
};

struct ReportMistake {
    Mistake mistake;
    std::string name;  // of the image
    Image picture;     // small; empty where the image could not be read again
};

// A row of a table of results: a head of the model, or an epoch of a run.
struct ReportScore {
    std::string name;  // "final epoch (10 of 10)"
    Scores scores;
};

// An image as it is annotated beside what the model made of it: classes of pixels, or boxes.
struct ReportSegment {
    std::string name;  // of the image
    double value = 0;
    std::string score = "mIoU";           // what the value is
    Image labelled = {}, predicted = {};  // small, with the classes over them
};

// A sentence of a data set, what people made of it and what the model made of it.
struct ReportSentence {
    std::string name;  // of the data set for it
    std::string source, reference, translation;
    double chrf = 0;
};

// BLEU of the sentences with as many words.
struct ReportLength {
    std::size_t least = 0, most = 0;
    std::size_t sentences = 0;
    double bleu = 0;
};

// Every part may be left empty, and is then left out of the page. Texts may hold anything.
struct ReportData {
    std::string title;
    std::vector<ReportFact> facts;       // model, parameters, data, machine, seed, versions …
    std::vector<std::string> notes;      // what a reader should know: skipped images …
    std::vector<MetricsRecord> records;  // of metrics.jsonl: curves and times
    std::optional<Metrics> evaluation;   // of the state that `shown` names …
    MeasurePtr measure;                  // … where it is not of one class per image
    std::shared_ptr<const DetectionScores> detection;  // … which is of boxes
    std::string shown;                    // "final epoch (10 of 10)"; empty: there is but one
    std::vector<ReportScore> epochs;      // the final one and the best one
    std::vector<ReportScore> heads;       // each alone and both
    std::vector<std::string> classes;     // names; a class without one is shown as its number
    std::vector<ReportMistake> mistakes;  // most confident first
    std::vector<ReportSegment> segments;  // the worst first
    std::vector<Colour> colours;          // of the classes, where pixels have some
    std::vector<ReportSentence> sentences = {};  // the worst first
    std::vector<ReportSentence> examples = {};
    std::vector<ReportLength> lengths = {};  // by rising length
    std::optional<DisagreementTable> disagreement;
    std::string recipe;  // the text of recipe.toml
};

std::string report_html(const ReportData& data);

// Replaces the file whole or not at all.
void write_report(const FilePlace& place, const ReportData& data);

// The part of a page that a measure fills, with pictures of the mistakes that it knows. `images`
// may be null, `measure` too.
void show_measure(const MeasurePtr& measure, const Dataset* images, ReportData& data);

// The pictures of metrics.worst(), small enough for a page.
std::vector<ReportMistake> report_mistakes(const Dataset& dataset, std::span<const Mistake> worst);

}  // namespace cait
