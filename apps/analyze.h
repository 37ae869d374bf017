// The arguments of `cait analyze`, and what is done with them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/feature_study.h"
#include "embed_arguments.h"
#include "models/open_model.h"
#include "pictures.h"
#include "report/analysis_report.h"

namespace cait::app {

// How pca, tsne, granularity and separability look at features.
struct FeatureArguments {
    EmbedArguments embed;      // the layer; model and execution are those of AnalyzeArguments
    FeatureQuestion question;  // but for analyses, data, seed and layer
    std::string report;        // page to write
    std::string svg;           // folder for the charts
};

struct AnalyzeArguments {
    ModelOptions model;
    std::vector<std::string> weights;  // [NAME=]FILE
    std::string classes;               // file with names
    PictureArguments pictures;  // --data also gives the images that accuracies are measured on
    std::string second;         // data set: accuracy on it by that on --data
    std::size_t limit = 0;      // images that accuracies are measured on; 0: all
    std::vector<std::string> what = {"all"};
    std::vector<std::int64_t> sizes;    // empty: around the model's own
    std::vector<double> ratios;         // crop ratios
    std::vector<std::string> reported;  // models of the catalogue with their papers' figures
    FeatureArguments features;
    ExecutorOptions executor;
    int threads = 1;  // that read images
    std::string output;
    bool json = false;

    bool all() const { return what.size() == 1 && what[0] == "all"; }
    bool asks(const std::string& analysis) const;
    bool asks_features() const;  // for pca, tsne, granularity or separability
    bool asks_models() const;    // for any other
};

// A model that is looked into.
struct Subject {
    OpenedModel opened;
    std::unique_ptr<Executor> executor;
    Tensor images;  // prepared, for what is measured inside; empty where none were given

    const Model& model() const { return opened.model; }
    const std::string& name() const { return opened.label; }
};

struct Finding {
    AnalysisSection section;
    nlohmann::json numbers;
};

// An analysis takes the models that it fits; `subjects` are all that there are. One that fits none
// of them throws UsageError with the reason.
Finding analyze_residual(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_layerscale(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_filters(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_tokens(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_similarity(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_resolution(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_crop(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_cost(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);
Finding analyze_second(const AnalyzeArguments& arguments, std::vector<Subject>& subjects);

// Calls measure(subject) for each. One that an analysis does not fit is left out with a line on
// stderr; when all are, the first reason is thrown.
void for_fitting(const std::string& what, std::vector<Subject>& subjects,
                 const std::function<void(Subject&)>& measure);

// What a model is called: NAME of NAME=FILE, and where several share it the file with it.
struct ModelLabel {
    std::string given;   // empty: no NAME
    std::string unique;  // without a NAME that of the file
};
std::vector<ModelLabel> labels_of(const AnalyzeArguments& arguments,
                                  const std::vector<FoundModel>& found);

// What --what means: names, each of an analysis. Throws UsageError for another word.
void check_analyses(const AnalyzeArguments& arguments);
void run(const AnalyzeArguments& arguments);

}  // namespace cait::app
