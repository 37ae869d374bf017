// The analyses that look inside a model, layer by layer.
#include <fmt/format.h>

#include "analysis/layer_values.h"
#include "analysis/map_similarity.h"
#include "analysis/model_analyses.h"
#include "analysis/patch_filters.h"
#include "analysis/place_filters.h"
#include "models/catalogue.h"
#include "report/line_chart.h"
#include "report/matrix_chart.h"

namespace cait {

namespace {

constexpr BranchKind kKinds[] = {BranchKind::exchange, BranchKind::mlp};

ShownImages shown(const AnalysisRequest& request, const AnalysedModel& subject) {
    return {subject.images, request.session.batch};
}

// Two charts over the layers: attention and MLP apart, a line for each model.
class BranchCharts {
public:
    BranchCharts(const std::string& name, const std::string& title, const std::string& y_label) {
        for (std::size_t i = 0; i < 2; ++i) {
            charts_[i].name = fmt::format("{}-{}", name, i == 0 ? "attention" : "mlp");
            charts_[i].title = fmt::format("{}: {}", title, kind_name(kKinds[i]));
            charts_[i].x_label = "layer";
            charts_[i].y_label = y_label;
            charts_[i].from_zero = charts_[i].every_point = true;
        }
    }

    // Branches that stand side by side in a layer are shown by their mean; layers of the class
    // token alone are another matter.
    void add(const std::string& model, const std::vector<std::pair<Branch, double>>& values) {
        for (const BranchKind kind : kKinds) {
            std::map<std::int64_t, std::pair<double, int>> layers;  // sum, count
            for (const auto& [branch, value] : values) {
                if (branch.kind != kind || branch.of_class) continue;
                layers[branch.layer].first += value;
                ++layers[branch.layer].second;
            }
            ChartSeries series{model, {}};
            for (const auto& [layer, sum] : layers)
                series.points.emplace_back(double(layer), sum.first / sum.second);
            charts_[std::size_t(kind)].series.push_back(std::move(series));
        }
    }

    std::vector<Figure> figures() const {
        std::vector<Figure> figures;
        for (const LineChart& chart : charts_)
            if (Figure figure = line_figure(chart); !figure.empty())
                figures.push_back(std::move(figure));
        return figures;
    }

private:
    LineChart charts_[2];
};

nlohmann::json to_json(const Branch& branch) {
    return {{"layer", branch.layer},
            {"branch", branch.kind == BranchKind::exchange ? "attention" : "mlp"},
            {"class_layer", branch.of_class}};
}

}  // namespace

void for_fitting(const std::string& what, const AnalysisRequest& request,
                 std::vector<AnalysedModel>& models,
                 const std::function<void(AnalysedModel&)>& measure) {
    std::vector<std::string> reasons;
    for (AnalysedModel& model : models) try {
            measure(model);
        } catch (const UsageError& error) {
            reasons.emplace_back(error.what());
        }
    if (reasons.size() == models.size()) throw UsageError(reasons.at(0));
    for (const std::string& reason : reasons)
        request.observer.note(fmt::format("{}: left out: {}", what, reason));
}

Finding analyze_residual(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    BranchCharts charts("residual", "Share of the residual branches",
                        "norm of what a branch adds / norm of what it is added to");
    Finding finding{
        {"Residual branches",
         "How much each branch adds to what comes in, mean over the images (figure 3.6 "
         "of the thesis). Layers of the class token alone are in the numbers: it starts "
         "small, so that what is added to it is many times as large.",
         {},
         {}},
        nlohmann::json::array()};
    for_fitting("residual", request, models, [&](AnalysedModel& subject) {
        nlohmann::json layers = nlohmann::json::array();
        std::vector<std::pair<Branch, double>> values;
        for (const BranchRatio& one :
             residual_ratios(subject.model, *subject.executor, shown(request, subject))) {
            values.emplace_back(one.branch, one.mean);
            nlohmann::json json = to_json(one.branch);
            json["ratio"] = one.mean;
            json["deviation"] = one.deviation;
            layers.push_back(std::move(json));
        }
        charts.add(subject.name, values);
        finding.numbers.push_back({{"model", subject.name}, {"branches", std::move(layers)}});
    });
    finding.section.figures = charts.figures();
    return finding;
}

Finding analyze_layerscale(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    BranchCharts charts("layerscale", "Weights of the residual branches",
                        "mean of the absolute values over the channels");
    Finding finding{{"LayerScale",
                     "What multiplies each residual branch, per channel (CaiT) or for all of them.",
                     {},
                     {}},
                    nlohmann::json::array()};
    for_fitting("layerscale", request, models, [&](AnalysedModel& subject) {
        nlohmann::json layers = nlohmann::json::array();
        std::vector<std::pair<Branch, double>> values;
        for (const BranchScale& one : layer_scales(subject.model)) {
            values.emplace_back(one.branch, one.mean);
            nlohmann::json json = to_json(one.branch);
            json["mean"] = one.mean;
            json["least"] = one.least;
            json["most"] = one.most;
            layers.push_back(std::move(json));
        }
        charts.add(subject.name, values);
        finding.numbers.push_back({{"model", subject.name}, {"branches", std::move(layers)}});
    });
    finding.section.figures = charts.figures();
    return finding;
}

Finding analyze_filters(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    Finding finding{
        {"Filters across patches",
         "Rows of the matrices that mix patches, those of the 6x6 central ones, each as "
         "an image of all patches: red adds, blue takes away (figure 4.2 of the "
         "thesis); of a translator the whole matrices across the places of a sentence. Below, how "
         "many numbers of each matrix are smaller than 5 % of its "
         "largest (figure 4.3).",
         {},
         {}},
        nlohmann::json::array()};
    std::size_t number = 0;
    for_fitting("filters", request, models, [&](AnalysedModel& subject) {
        const std::string which = ++number == 1 ? "" : fmt::format("-{}", number);
        std::vector<TileGroup> groups;
        const bool text = takes_text(subject.model.spec());
        for (PatchFilters& one : text ? place_filters(subject.model) : patch_filters(subject.model))
            groups.push_back(
                {fmt::format("{} {}", text ? one.part : "layer", one.layer), std::move(one.tiles)});
        LineChart chart{.title = subject.name + ": sparsity of the matrices",
                        .x_label = "layer",
                        .unit = ChartUnit::percent,
                        .from_zero = true,
                        .series = {{text ? "across places" : "across patches", {}},
                                   {"MLP, first", {}},
                                   {"MLP, second", {}}},
                        .every_point = true,
                        .name = "sparsity" + which,
                        .y_label = "share of numbers below 5 % of the largest"};
        nlohmann::json layers = nlohmann::json::array();
        for (const LayerSparsity& one :
             text ? place_sparsity(subject.model) : matrix_sparsity(subject.model)) {
            const double values[] = {one.patches, one.first, one.second};
            // A decoder's layers follow the encoder's.
            const double x = text ? double(layers.size()) : double(one.layer);
            for (std::size_t i = 0; i < 3; ++i) chart.series[i].points.emplace_back(x, values[i]);
            layers.push_back({{"layer", one.layer},
                              {text ? "across_places" : "across_patches", one.patches},
                              {"mlp_first", one.first},
                              {"mlp_second", one.second}});
            if (text) layers.back()["part"] = one.part;
        }
        finding.section.figures.push_back(
            text ? tile_figure("filters" + which, subject.name + ": filters across places",
                               "a row for each place, a column for what it reads", groups)
                 : tile_figure("filters" + which, subject.name + ": filters across patches",
                               "rows of the central patches", groups));
        finding.section.figures.push_back(line_figure(chart));
        finding.numbers.push_back({{"model", subject.name}, {"sparsity", std::move(layers)}});
    });
    return finding;
}

Finding analyze_tokens(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    LineChart chart{.title = "Class and distillation token",
                    .x_label = "blocks gone through",
                    .unit = ChartUnit::number,
                    .from_zero = true,
                    .series = {},
                    .every_point = true,
                    .name = "tokens",
                    .y_label = "cosine of the two"};
    Finding finding{{"Class and distillation token",
                     "How alike the two are before the first block and after each one, mean over "
                     "the images. In the paper they start at 0.06 and end at 0.93 (section 3.3 of "
                     "the thesis).",
                     {},
                     {}},
                    nlohmann::json::array()};
    for_fitting("tokens", request, models, [&](AnalysedModel& subject) {
        const std::vector<double> cosines =
            token_cosines(subject.model, *subject.executor, shown(request, subject));
        chart.series.push_back({subject.name, {}});
        for (std::size_t i = 0; i < cosines.size(); ++i)
            chart.series.back().points.emplace_back(double(i), cosines[i]);
        finding.numbers.push_back({{"model", subject.name}, {"cosines", cosines}});
    });
    finding.section.figures.push_back(line_figure(chart));
    return finding;
}

Finding analyze_similarity(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    LineChart neighbours{.title = "Attention like that of the layer before",
                         .x_label = "layer",
                         .unit = ChartUnit::percent,
                         .from_zero = true,
                         .series = {},
                         .every_point = true,
                         .name = "similarity-by-depth",
                         .y_label = "share of (head, token) with a cosine above 0.5"};
    Finding finding{{"Similarity of attention across depth",
                     "How alike the self-attention maps of each two layers are: the mean over "
                     "images, heads and tokens of the cosine of what a token contributes to the "
                     "others (DeepViT, Zhou et al. 2021, whose deep ViTs collapse to one map).",
                     {},
                     {}},
                    nlohmann::json::array()};
    std::size_t number = 0;
    for_fitting("similarity", request, models, [&](AnalysedModel& subject) {
        const MapSimilarity found =
            map_similarity(subject.model, *subject.executor, subject.images);
        const std::string which = ++number == 1 ? "" : fmt::format("-{}", number);
        finding.section.figures.push_back(
            matrix_figure({.name = "similarity" + which,
                           .title = subject.name + ": attention of each two layers",
                           .axis_label = "layer",
                           .size = found.layers,
                           .values = found.cosine}));
        neighbours.series.push_back({subject.name, {}});
        nlohmann::json rows = nlohmann::json::array();
        for (std::size_t i = 0; i < found.layers; ++i) {
            const auto row = found.cosine.begin() + std::ptrdiff_t(i * found.layers);
            rows.push_back(std::vector<double>(row, row + std::ptrdiff_t(found.layers)));
            if (i > 0)
                neighbours.series.back().points.emplace_back(double(i), found.similar[i - 1]);
        }
        finding.numbers.push_back({{"model", subject.name},
                                   {"cosines", std::move(rows)},
                                   {"similar_to_the_layer_before", found.similar}});
    });
    finding.section.figures.push_back(line_figure(neighbours));
    return finding;
}

}  // namespace cait
