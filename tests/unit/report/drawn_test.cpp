// Every kind of chart and page as it was drawn when somebody last looked at it: a bar of the wrong
// height or a tick in the wrong place is not seen by a test that looks for words.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/scores.h"
#include "report/analysis_report.h"
#include "report/cloud_chart.h"
#include "report/interval_chart.h"
#include "report/line_chart.h"
#include "report/lr_finder_chart.h"
#include "report/matrix_chart.h"
#include "report/point_chart.h"
#include "report/report.h"
#include "report/seed_study.h"
#include "report/spread_charts.h"
#include "support/source_path.h"
#include "support/stored_text.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

void expect_drawn(const std::string& name, const std::string& found) {
    test::expect_drawn(test::source_path(__FILE__).parent_path() / "data" / name, found);
}

TEST(Drawn, Lines) {
    expect_drawn("lines.html",
                 line_chart_html({.title = "Loss",
                                  .x_label = "epoch",
                                  .series = {{"train", {{0, 2.3}, {1, 1.1}, {2, 0.7}}},
                                             {"validation", {{0, 2.1}, {2, 0.9}}}}}) +
                     line_chart_html({.title = "Top-1",
                                      .x_label = "epoch",
                                      .unit = ChartUnit::percent,
                                      .from_zero = true,
                                      .series = {{"top-1", {{1, 0.61}, {3, 0.743}}}}}));
    LineChart levels{.title = "By level",
                     .x_label = "level",
                     .series = {},
                     .x_names = {"coarse", "middle", "fine"},
                     .every_point = true,
                     .name = "levels",
                     .y_label = "accuracy"};
    for (int i = 0; i < 5; ++i)
        levels.series.push_back(
            {"model " + std::to_string(i), {{0, 0.9 - 0.1 * i}, {1, 0.7}, {2, 0.1 * i}}});
    expect_drawn("lines-with-names.html", figure_html(line_figure(levels)));
}

TEST(Drawn, PointsWithALine) {
    expect_drawn("points.html", figure_html(point_figure({.name = "cost",
                                                          .title = "Accuracy over cost",
                                                          .x_label = "GFLOPs",
                                                          .y_label = "top-1",
                                                          .y_unit = ChartUnit::percent,
                                                          .points = {{"xxs24", 2.5, 0.783, "cait"},
                                                                     {"s24", 9.4, 0.827, "cait"},
                                                                     {"small", 4.6, 0.799, "deit"}},
                                                          .fit = true})));
}

TEST(Drawn, Intervals) {
    const std::vector<double> first{0.71, 0.74, 0.73}, second{0.52, 0.58};
    expect_drawn(
        "intervals.html",
        figure_html(interval_figure({"Seeds",
                                     "top-1",
                                     ChartUnit::percent,
                                     {{"a", 1, spread_of(first)}, {"b", 3, spread_of(second)}}})));
}

TEST(Drawn, CloudsAndMatrices) {
    CloudChart cloud{"Map", {}, {}, {}};
    for (int i = 0; i < 24; ++i) {
        cloud.points.push_back({std::cos(i) * i, std::sin(i) * i});
        cloud.groups.push_back(i % 12);
    }
    for (int i = 0; i < 12; ++i) cloud.names.push_back("class " + std::to_string(i));
    expect_drawn("cloud.html", figure_html(cloud_figure(cloud)));
    const std::vector<double> alike{1, 0.25, 0.5, 0.25, 1, 0.75, 0.5, 0.75, 1};
    const std::vector<double> signs{1, -0.5, -0.5, 1};
    Image tiles = Image::blank(2, 3, 3);
    expect_drawn("matrices.html",
                 figure_html(matrix_figure({"alike", "Similarity", "layer", 3, alike})) +
                     figure_html(matrix_figure({"signs", "Correlation", "head", 2, signs})) +
                     figure_html(tile_figure("filters", "Filters", "layer",
                                             {{"layer 1", tiles}, {"layer 2", tiles}})));
}

TEST(Drawn, Spreads) {
    const std::vector<double> values{0.71, 0.72, 0.72, 0.735, 0.74, 0.745, 0.78};
    std::vector<std::pair<double, Spread>> epochs;
    std::vector<std::pair<double, double>> pairs;
    for (int i = 1; i <= 4; ++i) {
        const std::vector<double> some{0.1 * i, 0.1 * i + 0.02, 0.1 * i + 0.05};
        epochs.emplace_back(i, spread_of(some));
        pairs.emplace_back(0.1 * i, 0.6 + 0.03 * i * i);
    }
    expect_drawn("spreads.html",
                 histogram_html({"Top-1", "accuracy", ChartUnit::percent, values}) +
                     histogram_html({"Loss", "loss", ChartUnit::number, {1.5, 1.5, 1.5}}) +
                     band_chart_html({"Along the run", "epoch", ChartUnit::percent, epochs}) +
                     scatter_chart_html({"Two test sets",
                                         "validation",
                                         ChartUnit::percent,
                                         pairs,
                                         {"seed 0", "seed 1", "seed 2", "seed 3"}}));
}

TEST(Drawn, TheSearchForARate) {
    std::vector<LrPoint> points;
    for (int i = 0; i < 20; ++i)
        points.push_back(
            {1e-6 * std::pow(10, i / 4.0), i < 16 ? 2.3 - 0.1 * i : std::pow(4, i - 15)});
    expect_drawn("rates.svg", lr_finder_svg(points, 1e-3));
}

Metrics answers() {
    constexpr std::size_t kClasses = 5;
    Metrics metrics(kClasses);
    for (std::size_t i = 0; i < 23; ++i) {
        std::vector<float> logits(kClasses);
        logits[(i % 4 == 0 ? i + 1 : i) % kClasses] = float(1 + i % 5);
        metrics.add(i, logits, std::int64_t(i % kClasses));
    }
    return metrics;
}

TEST(Drawn, ThePageOfARun) {
    ReportData data;
    data.title = "A run";
    data.facts = {{"model", "cait_xxs24_224"}, {"data", "folder:train"}};
    data.notes = {"2 images left out"};
    data.records = {
        {"train", 10, 0.5, {{"loss", 2}, {"lr", 1e-3}, {"images_per_second", 90}}},
        {"train", 20, 1, {{"loss", 1}, {"lr", 5e-4}, {"seconds_data", 1}, {"seconds_forward", 3}}},
        {"val", 20, 1, {{"loss", 1.5}, {"top1", 0.5}, {"top1_ema", 0.625}, {"top5", 0.75}}},
        {"val", 40, 2, {{"loss", 1.2}, {"top1", 0.6}, {"top1_ema", 0.65}, {"top5", 0.8}}}};
    data.evaluation = answers();
    data.shown = "final epoch (2 of 2)";
    const auto scores = [](double top1, double top5, double loss) {
        return Scores{make_score("top1", top1), make_score("top5", top5), make_score("loss", loss)};
    };
    data.epochs = {{"final epoch (2 of 2)", scores(0.6, 0.8, 1.2)},
                   {"best epoch (1)", scores(0.61, 0.79, 1.3)}};
    data.heads = {{"class", scores(0.6, 0.8, 1.2)}, {"distillation", scores(0.62, 0.81, 1.1)}};
    data.classes = {"ant", "bee", "cat", "dog"};
    data.mistakes = report_mistakes(data_test::MemoryDataset(23, {4}), data.evaluation->worst());
    data.disagreement =
        disagreement({{0}, {1}, {1}}, {{"first", {0, 0, 1}}, {"second", {0, 1, 0}}});
    data.recipe = "[model]\nname = \"cait_xxs24_224\"\n";
    expect_drawn("run.html", report_html(data));
}

TEST(Drawn, ThePageOfSeveralSeeds) {
    SeedStudy study{.title = "Luck",
                    .validation = "folder:val",
                    .requested = 4,
                    .facts = {{"model", "cait_xxs24_224"}},
                    .notes = {"one run is to come"},
                    .runs = {},
                    .recipe = "[train]\n"};
    for (int seed = 0; seed < 3; ++seed) {
        SeedRun run{seed, "seed-" + std::to_string(seed), {}, {}};
        for (int epoch = 1; epoch <= 6; ++epoch)
            run.records.push_back({"val",
                                   10 * epoch,
                                   double(epoch),
                                   {{"top1", 0.5 + 0.05 * epoch + 0.01 * seed * seed / epoch},
                                    {"top1_ema", 0.5 + 0.05 * epoch + 0.01 * seed},
                                    {"top5_ema", 0.91},
                                    {"loss_ema", 0.9 / epoch},
                                    {"top5", 0.9},
                                    {"loss", 1.0 / epoch}}});
        run.tests.emplace_back("folder:v2",
                               EpochScores{6,
                                           {make_score("top1", 0.6 + 0.02 * seed),
                                            make_score("top5", 0.8), make_score("loss", 2)}});
        study.runs.push_back(std::move(run));
    }
    expect_drawn("seeds.html", seeds_html(study));
}

TEST(Drawn, ThePageOfAnAnalysis) {
    expect_drawn("analysis.html",
                 analysis_html("An analysis", {{"model", "cait_xxs24_224"}},
                               {{"Residual branches",
                                 "how much each adds",
                                 {line_figure({.title = "Share",
                                               .x_label = "layer",
                                               .series = {{"attention", {{1, 0.2}, {2, 0.4}}}},
                                               .name = "share"})},
                                 {{"layer", "share"}, {"1", "0.2"}, {"2", "0.4"}}},
                                {"A table alone", "", {}, {{"a"}, {"b"}}}}));
}

}  // namespace
}  // namespace cait
