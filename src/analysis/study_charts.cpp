// The charts of a study (figures 2.1, 2.4 and 2.5 and table 2.1 of Touvron's thesis).
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/principal.h"
#include "analysis/study.h"
#include "report/cloud_chart.h"
#include "report/html.h"
#include "report/interval_chart.h"
#include "report/line_chart.h"

namespace cait {

namespace {

// A name as a part of a file's: letters, digits and hyphens.
std::string file_part(const std::string& name) {
    std::string part;
    for (const char c : name) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || c == '_' || c == '.')
            part += c;
        else if (!part.empty() && part.back() != '-')
            part += '-';
    }
    while (!part.empty() && part.back() == '-') part.pop_back();
    return part;
}

void add(std::vector<Figure>& charts, std::string name, Figure figure) {
    if (figure.empty()) return;
    figure.name = std::move(name);
    charts.push_back(std::move(figure));
}

using ShownValue = double GranularityScore::*;

std::vector<std::string> level_names(const Study& study) {
    std::vector<std::string> names;
    for (const GranularityScore& score : study.models.front().granularity)
        names.push_back(score.level);
    return names;
}

std::vector<std::string> methods_of(const Study& study) {
    std::vector<std::string> methods;
    for (const StudiedModel& model : study.models)
        if (std::ranges::count(methods, model.method) == 0) methods.push_back(model.method);
    return methods;
}

// Every model at every level that it is tested at.
Figure by_test_level(const Study& study, const char* what, ShownValue value) {
    LineChart chart{fmt::format("{} by test level", what),
                    "level of the test",
                    ChartUnit::percent,
                    false,
                    {},
                    level_names(study)};
    for (const StudiedModel& model : study.models) {
        ChartSeries series{model.name, {}};
        for (std::size_t i = 0; i < model.granularity.size(); ++i)
            series.points.emplace_back(double(i), model.granularity[i].*value);
        chart.series.push_back(std::move(series));
    }
    return line_figure(chart);
}

// Every method by the level that it was trained at, tested at that level or at the finest. There is
// nothing to see unless models were trained at two levels.
Figure by_training_level(const Study& study, const char* what, ShownValue value, bool finest) {
    const std::vector<std::string> levels = level_names(study);
    LineChart chart{
        fmt::format("{}, {}", what, finest ? "tested at the finest level" : "tested as trained"),
        "level of the training",
        ChartUnit::percent,
        false,
        {},
        levels};
    std::vector<std::string> trained;
    for (const std::string& method : methods_of(study)) {
        ChartSeries series{method, {}};
        for (std::size_t level = 0; level < levels.size(); ++level)
            for (const StudiedModel& model : study.models)
                if (model.method == method && model.trained == levels[level]) {
                    const std::size_t at = finest ? levels.size() - 1 : level;
                    series.points.emplace_back(double(level), model.granularity[at].*value);
                    if (std::ranges::count(trained, levels[level]) == 0)
                        trained.push_back(levels[level]);
                }
        if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    return trained.size() > 1 ? line_figure(chart) : Figure{};
}

}  // namespace

std::vector<Figure> energy_charts(const Study& study) {
    constexpr double kShown = 0.995;  // beyond that the curves are one
    constexpr std::size_t kFewest = 16;
    LineChart chart{"Cumulative energy of the principal components",
                    "components",
                    ChartUnit::percent,
                    true,
                    {}};
    std::size_t shown = kFewest;
    for (const StudiedModel& model : study.models)
        shown = std::max(shown, components_for(model.energy, kShown));
    for (const StudiedModel& model : study.models) {
        if (model.energy.empty()) continue;
        ChartSeries series{model.name, {}};
        for (std::size_t i = 0; i < std::min(shown, model.energy.size()); ++i)
            series.points.emplace_back(double(i + 1), model.energy[i]);
        chart.series.push_back(std::move(series));
    }
    std::vector<Figure> charts;
    add(charts, "pca", line_figure(chart));
    return charts;
}

std::vector<Figure> map_charts(const Study& study) {
    std::vector<Figure> charts;
    for (const StudiedModel& model : study.models) {
        if (!model.map) continue;
        for (const LabelLevel& level : study.map_levels)
            add(charts, fmt::format("tsne-{}-{}", file_part(model.name), file_part(level.name)),
                cloud_figure({fmt::format("{}, coloured by {}", model.name, level.name),
                              model.map->points, level.labels, level.classes.names}));
    }
    return charts;
}

std::vector<Figure> granularity_charts(const Study& study) {
    std::vector<Figure> charts;
    if (study.models.empty() || study.models.front().granularity.empty()) return charts;
    for (const auto& [what, file, value] :
         {std::tuple{"kNN top-1", "knn", ShownValue{&GranularityScore::top1}},
          {"mAP", "map", ShownValue{&GranularityScore::map}}}) {
        add(charts, fmt::format("granularity-{}", file), by_test_level(study, what, value));
        add(charts, fmt::format("granularity-{}-as-trained", file),
            by_training_level(study, what, value, false));
        add(charts, fmt::format("granularity-{}-finest", file),
            by_training_level(study, what, value, true));
    }
    return charts;
}

std::vector<Figure> separability_charts(const Study& study) {
    IntervalChart chart{"Accuracy on random halves of the classes",
                        "top-1 on the images of the fit",
                        ChartUnit::percent,
                        {}};
    bool conditioned = false;
    for (const StudiedModel& model : study.models) {
        if (model.draws.empty()) continue;
        chart.rows.push_back({model.name, 1, separability_spread(model, false)});
        if (!model.conditioned) continue;
        conditioned = true;
        chart.rows.push_back({"conditioned", 2, separability_spread(model, true)});
    }
    Figure figure = interval_figure(chart);
    figure.keys.push_back({"s1", "linear classifier"});
    if (conditioned)
        figure.keys.push_back(
            {"s2", fmt::format("with the model's own answer at level {}", study.coarse)});
    std::vector<Figure> charts;
    add(charts, "separability", std::move(figure));
    return charts;
}

std::vector<Figure> study_charts(const Study& study) {
    std::vector<Figure> all;
    for (const auto& make : {energy_charts, granularity_charts, map_charts, separability_charts})
        for (Figure& chart : make(study)) all.push_back(std::move(chart));
    return all;
}

Spread separability_spread(const StudiedModel& model, bool conditional) {
    std::vector<double> values;
    for (const SeparabilityDraw& draw : model.draws)
        values.push_back(conditional ? draw.conditional : draw.top1);
    return spread_of(values);
}

}  // namespace cait
