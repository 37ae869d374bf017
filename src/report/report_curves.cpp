// The part of a report that comes from metrics.jsonl: how the run went, and where its time went.
#include <fmt/format.h>

#include <cmath>

#include "evaluate/scores.h"
#include "report/html.h"
#include "report/line_chart.h"
#include "report/report_parts.h"

namespace cait {

namespace {

constexpr const char* kPerplexity = "perplexity";

void add_series(LineChart& chart, const ReportData& data, const char* kind,
                const std::string& value, const std::string& name) {
    ChartSeries series{name, {}};
    for (const MetricsRecord& record : data.records)
        if (const auto found = record.values.find(value);
            record.kind == kind && found != record.values.end())
            series.points.emplace_back(record.epoch, found->second);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
}

std::string duration(double seconds) {
    if (seconds < 120) return fmt::format("{:.1f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string report_curves(const ReportData& data) {
    LineChart loss{"Loss", "epoch", ChartUnit::number, false, {}};
    add_series(loss, data, "train", metric::kLoss, "training");
    add_series(loss, data, "val", metric::kLoss, "validation");
    const std::string average(kOfAverage);
    add_series(loss, data, "val", metric::kLoss + average, "validation, EMA");
    LineChart accuracy{"Accuracy on validation", "epoch", ChartUnit::percent, false, {}};
    for (const Score& score : main_scores(known_scores())) {
        if (score.format != ScoreFormat::percent) continue;
        const bool first = accuracy.series.empty();
        add_series(accuracy, data, "val", score.name, score.title);
        if (first) add_series(accuracy, data, "val", score.name + average, score.title + ", EMA");
    }
    LineChart perplexity{"Perplexity on validation", "epoch", ChartUnit::number, false, {}};
    add_series(perplexity, data, "val", kPerplexity, "perplexity");
    add_series(perplexity, data, "val", kPerplexity + average, "perplexity, averaged weights");
    LineChart rate{"Learning rate", "epoch", ChartUnit::number, true, {}};
    add_series(rate, data, "train", metric::kLr, "learning rate");
    LineChart speed{"Images per second", "epoch", ChartUnit::number, true, {}};
    add_series(speed, data, "train", metric::kImagesPerSecond, "training");
    LineChart pieces{"Target pieces per second", "epoch", ChartUnit::number, true, {}};
    add_series(pieces, data, "train", metric::kPiecesPerSecond, "training");
    std::string charts;
    for (const LineChart& chart : {loss, accuracy, perplexity, rate, speed, pieces})
        charts += line_chart_html(chart);
    if (charts.empty()) return {};
    return section("Curves", "", fmt::format("<div class=\"charts\">\n{}</div>\n", charts));
}

std::string report_timing(const ReportData& data) {
    struct Share {
        const char* name;
        const char* value;
        double seconds = 0;
    };
    Share shares[] = {{"data", metric::kSecondsData},
                      {"forward", metric::kSecondsForward},
                      {"backward", metric::kSecondsBackward},
                      {"optimiser", metric::kSecondsOptimiser},
                      {"other", metric::kSecondsOther}};
    double total = 0;
    for (Share& share : shares) {
        for (const MetricsRecord& record : data.records)
            if (const auto found = record.values.find(share.value);
                found != record.values.end() && std::isfinite(found->second) && found->second > 0)
                share.seconds += found->second;
        total += share.seconds;
    }
    if (total <= 0) return {};
    std::string bar;
    std::string legend;
    int colour = 0;
    for (const Share& share : shares) {
        const double percent = 100 * share.seconds / total;
        ++colour;
        bar += fmt::format("<i class=\"s{}\" style=\"width:{:.2f}%\" title=\"{} {:.1f} %\"></i>",
                           colour, percent, share.name, percent);
        legend += fmt::format("<span><i class=\"key s{}\"></i>{} <b>{:.1f} %</b> {}</span> ",
                              colour, share.name, percent, duration(share.seconds));
    }
    return section(
        "Where the time went",
        fmt::format("{} of training; \"data\" is time spent waiting for the loader.",
                    duration(total)),
        fmt::format("<div class=\"split\">{}</div>\n<p class=\"legend\">{}</p>\n", bar, legend));
}

}  // namespace cait
