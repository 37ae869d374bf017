// The arguments of `cait analyze`, and what is done with them.
#pragma once

#include <string>
#include <vector>

#include "analysis/feature_study.h"
#include "embed_arguments.h"
#include "models/open_model.h"
#include "pictures.h"

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

// What --what means: names, each of an analysis. Throws UsageError for another word.
void check_analyses(const AnalyzeArguments& arguments);
void run(const AnalyzeArguments& arguments);

}  // namespace cait::app
