// What `cait analyze` found out about the features of one or several models, and how it is shown:
// as charts, as a page and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/separability.h"
#include "analysis/tsne.h"
#include "data/dataset.h"
#include "report/figure.h"
#include "report/report.h"
#include "report/spread.h"

namespace cait {

// How features do at one level of the labels, judged by their neighbours.
struct GranularityScore {
    std::string level;
    std::size_t classes = 0;
    std::size_t k = 0;  // with the best top-1
    double top1 = 0;
    double map = 0;
};

struct StudiedModel {
    std::string name;     // unique
    std::string method;   // what several models trained at several levels may share
    std::string weights;  // file
    std::string model;    // "resnet18"
    std::string trained;  // level whose classes the model knows; empty: none
    std::size_t images = 0, dimension = 0;

    std::vector<double> energy;  // cumulative, of the principal components
    std::optional<Tsne> map;
    std::vector<GranularityScore> granularity;  // coarsest level first
    std::vector<SeparabilityDraw> draws;
    bool conditioned = false;  // the draws' conditional accuracies are there
};

struct Study {
    std::string data, test;
    std::vector<StudiedModel> models;
    std::vector<std::string> notes;  // what a reader should know
    std::vector<ReportFact> facts;
    // What is known of the points of the maps: which images they are, and their labels.
    std::vector<std::size_t> map_indices;
    std::vector<LabelLevel> map_levels;
    double perplexity = 0;
    std::string coarse;  // level that was split at random
    std::size_t coarse_classes = 0;
};

// The charts of each analysis that was made, named for their files ("pca", "tsne-resnet18-fine").
std::vector<Figure> energy_charts(const Study& study);
std::vector<Figure> map_charts(const Study& study);
std::vector<Figure> granularity_charts(const Study& study);
std::vector<Figure> separability_charts(const Study& study);
std::vector<Figure> study_charts(const Study& study);  // all of them

std::string study_html(const Study& study);
nlohmann::json study_json(const Study& study);

// Fractions of the energy for which the number of components is reported.
inline constexpr double kEnergyMarks[] = {0.5, 0.9, 0.95, 0.99};

// Over the draws; the conditional ones where asked for.
Spread separability_spread(const StudiedModel& model, bool conditional);

}  // namespace cait
