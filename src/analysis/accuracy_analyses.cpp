// The analyses that measure accuracies: by resolution, by crop, by cost, and on a
// second test set.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/model_analyses.h"
#include "cait/session.h"
#include "data/open_dataset.h"
#include "data/random.h"
#include "engine/bench_model.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/match_classes.h"
#include "models/catalogue.h"
#include "report/line_chart.h"
#include "report/point_chart.h"
#include "system/cpu_limit.h"

namespace cait {

namespace {

constexpr double kMib = 1024 * 1024;

DatasetPtr open_limited(const std::string& uri, const AnalysisRequest& request) {
    const DatasetPtr dataset = open_dataset(uri, Split::val);
    for (const std::string& note : dataset->notes()) request.observer.note(note);
    if (request.limit == 0 || request.limit >= dataset->size()) return dataset;
    std::vector<std::uint32_t> order(dataset->size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    RandomStream random(request.seed, "analyze");
    shuffle(std::span(order), random);
    order.resize(request.limit);
    std::ranges::sort(order);
    return subset(dataset, {order.begin(), order.end()});
}

double top1(const AnalysisRequest& request, const std::string& file, const Model& model,
            const Executor& executor, const DatasetPtr& data, const std::string& what) {
    const auto classes = std::size_t(model.spec().architecture->common().classes);
    if (classes == 0)
        throw UsageError(
            fmt::format("{}: expected a model with classes, found a backbone", model.spec().name));
    const DatasetPtr dataset =
        match_classes(data, model.classes(), classes, file, request.observer);
    const WorkObserver::Progress progress = request.observer.begin(what, "images");
    EvaluateDataOptions options;
    options.batch = request.session.batch;
    options.threads = request.loader_threads;
    options.worst = 0;
    options.progress = [&](std::size_t done) { progress(done, dataset->size()); };
    return evaluate_data(executor, model, dataset, options).evaluation.metrics().top1();
}

// Half to one and a half of the model's own, in steps of its patches.
std::vector<std::int64_t> usual_sizes(const Model& model) {
    const auto [height, width] = model.spec().architecture->common().image_size;
    if (height != width)
        throw UsageError(
            fmt::format("{}: expected a model of square images, or --sizes; found "
                        "{}x{}",
                        model.spec().name, height, width));
    const std::map<std::string, std::string> settings = model.settings();
    const auto patch = settings.find("patch");
    const std::int64_t step = patch == settings.end() ? 32 : std::stoll(patch->second);
    std::vector<std::int64_t> sizes;
    for (const double factor : {0.5, 0.75, 1.0, 1.25, 1.5}) {
        const std::int64_t size =
            std::max<std::int64_t>(1, std::llround(double(height) * factor / double(step))) * step;
        if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
    }
    return sizes;
}

double activations_mib(const AnalysisRequest& request, const Model& model) {
    const Session session(model, request.session);
    session.prepare({});
    return double(session.memory().activations) / kMib;
}

LineChart line_chart(const std::string& name, const std::string& title, const std::string& x_label,
                     const std::string& y_label, ChartUnit unit) {
    return {.title = title,
            .x_label = x_label,
            .unit = unit,
            .from_zero = unit == ChartUnit::number,
            .series = {},
            .every_point = true,
            .name = name,
            .y_label = y_label};
}

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

}  // namespace

Finding analyze_resolution(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    LineChart memory =
        line_chart("resolution-memory", "Memory by resolution", "pixels",
                   fmt::format("MiB that a batch of {} needs in addition to the weights",
                               request.session.batch),
                   ChartUnit::number);
    LineChart accuracy = line_chart("resolution-accuracy", "Accuracy by resolution", "pixels",
                                    "top-1 of the same weights at other sizes", ChartUnit::percent);
    Finding finding{{"Resolution",
                     "The same weights at other sizes of the image than they were trained for, and "
                     "the memory that the engine lays out for a batch (figures 5.3 and 5.4 of the "
                     "thesis).",
                     {},
                     {{"model", "pixels", "memory in MiB", "top-1"}}},
                    nlohmann::json::array()};
    const bool labels = !request.data.empty();
    const DatasetPtr data = labels ? open_limited(request.data, request) : nullptr;
    for_fitting("resolution", request, models, [&](AnalysedModel& subject) {
        const std::vector<std::int64_t> sizes =
            request.sizes.empty() ? usual_sizes(subject.model) : request.sizes;
        ChartSeries used{subject.name, {}}, right{subject.name, {}};
        nlohmann::json points = nlohmann::json::array();
        for (const std::int64_t size : sizes) {
            const Model model = subject.at_size(size);
            const double mib = activations_mib(request, model);
            used.points.emplace_back(double(size), mib);
            nlohmann::json point{{"size", size}, {"activations_mib", mib}};
            std::string shown;
            if (labels) {
                const EngineExecutor executor(model, request.session);
                const double share = top1(request, subject.file, model, executor, data,
                                          fmt::format("{} pixels", size));
                right.points.emplace_back(double(size), share);
                point["top1"] = share;
                shown = percent_text(share);
            }
            finding.section.table.push_back(
                {subject.name, fmt::format("{}", size), fmt::format("{:.1f}", mib), shown});
            points.push_back(std::move(point));
        }
        memory.series.push_back(std::move(used));
        if (labels) accuracy.series.push_back(std::move(right));
        finding.numbers.push_back({{"model", subject.name},
                                   {"batch", request.session.batch},
                                   {"sizes", std::move(points)}});
    });
    if (labels) finding.section.figures.push_back(line_figure(accuracy));
    finding.section.figures.push_back(line_figure(memory));
    return finding;
}

Finding analyze_crop(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    LineChart chart =
        line_chart("crop", "Accuracy by crop ratio", "crop ratio", "top-1", ChartUnit::percent);
    Finding finding{{"Crop ratio",
                     "How much of the resized image the model is shown when it is tested (figure "
                     "6.6 of the thesis).",
                     {},
                     {{"model", "crop ratio", "top-1"}}},
                    nlohmann::json::array()};
    const DatasetPtr data = open_limited(request.data, request);
    const std::vector<double> ratios =
        request.ratios.empty() ? std::vector{0.6, 0.7, 0.8, 0.875, 0.95, 1.0} : request.ratios;
    for_fitting("crop", request, models, [&](AnalysedModel& subject) {
        ChartSeries series{subject.name, {}};
        nlohmann::json points = nlohmann::json::array();
        for (const double ratio : ratios) {
            Model model = subject.model;
            Preprocessing preprocessing = model.preprocessing();
            preprocessing.crop_ratio = ratio;
            model.set_preprocessing(preprocessing);
            const double share = top1(request, subject.file, model, *subject.executor, data,
                                      fmt::format("crop {}", ratio));
            series.points.emplace_back(ratio, share);
            points.push_back({{"ratio", ratio}, {"top1", share}});
            finding.section.table.push_back(
                {subject.name, fmt::format("{}", ratio), percent_text(share)});
        }
        chart.series.push_back(std::move(series));
        finding.numbers.push_back({{"model", subject.name},
                                   {"own_ratio", subject.model.preprocessing().crop_ratio},
                                   {"ratios", std::move(points)}});
    });
    finding.section.figures.push_back(line_figure(chart));
    return finding;
}

namespace {

// What a model costs and gets right; speed only where it was measured.
struct Costs {
    std::string name, family;
    ModelInfo info;
    double top1 = 0;
    std::optional<BenchResult> speed;
};

Figure cost_figure(const std::vector<Costs>& all, const std::string& name, const std::string& title,
                   const std::string& x_label,
                   const std::function<std::optional<double>(const Costs&)>& cost) {
    PointChart chart{.name = name,
                     .title = title,
                     .x_label = x_label,
                     .y_label = "top-1",
                     .y_unit = ChartUnit::percent,
                     .points = {}};
    for (const Costs& one : all)
        if (const std::optional<double> x = cost(one))
            chart.points.push_back({one.name, *x, one.top1, one.family});
    return point_figure(chart);
}

std::vector<Costs> measured_costs(const AnalysisRequest& request,
                                  std::vector<AnalysedModel>& models) {
    std::vector<Costs> costs;
    if (models.empty()) return costs;
    if (request.data.empty())
        throw UsageError("expected --data to measure accuracies on, found none");
    const DatasetPtr data = open_limited(request.data, request);
    const int threads = request.session.threads > 0 ? request.session.threads : default_threads();
    for_fitting("cost", request, models, [&](AnalysedModel& subject) {
        const double share =
            top1(request, subject.file, subject.model, *subject.executor, data, subject.name);
        costs.push_back(
            {subject.name, subject.model.info().family, subject.model.info(), share,
             bench_model(subject.model, {request.session.batch, request.session.precision, threads},
                         {.seconds = 0.5})});
    });
    return costs;
}

}  // namespace

Finding analyze_cost(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    std::vector<Costs> all = measured_costs(request, models);
    if (!request.reported.empty())
        for (const ModelInfo& info : list_models(request.reported))
            if (const auto share = info.top1 ? info.top1 : info.top1_distilled)
                all.push_back({info.name, info.family, info, *share / 100, {}});
    if (all.empty())
        throw UsageError("--reported: expected models with an accuracy in a paper, found none");
    Finding finding{
        {"Accuracy and cost",
         "What accuracy costs: multiply-adds, parameters, memory for activations of an "
         "image, and images per second on this machine where they were measured "
         "(figures 3.3, 3.8 and 5.7 of the thesis). Accuracies of --reported are those "
         "of the papers, on ImageNet.",
         {},
         {{"model", "top-1", "GMAC", "parameters in M", "activations in MiB", "images/s"}}},
        nlohmann::json::array()};
    for (const Costs& one : all) {
        nlohmann::json json{{"model", one.name},
                            {"family", one.family},
                            {"top1", one.top1},
                            {"reported", !one.speed.has_value()},
                            {"macs", one.info.macs},
                            {"params", one.info.params},
                            {"activation_bytes", one.info.inference_bytes}};
        if (one.speed) json["images_per_second"] = one.speed->images_per_second;
        finding.numbers.push_back(std::move(json));
        finding.section.table.push_back(
            {one.name, percent_text(one.top1), fmt::format("{:.2f}", double(one.info.macs) * 1e-9),
             fmt::format("{:.2f}", double(one.info.params) * 1e-6),
             fmt::format("{:.1f}", double(one.info.inference_bytes) / kMib),
             one.speed ? fmt::format("{:.1f}", one.speed->images_per_second) : ""});
    }
    std::vector<Figure>& figures = finding.section.figures;
    figures.push_back(cost_figure(all, "cost-macs", "Accuracy by multiply-adds", "GMAC",
                                  [](const Costs& c) { return double(c.info.macs) * 1e-9; }));
    figures.push_back(cost_figure(all, "cost-params", "Accuracy by parameters",
                                  "millions of parameters",
                                  [](const Costs& c) { return double(c.info.params) * 1e-6; }));
    figures.push_back(
        cost_figure(all, "cost-memory", "Accuracy by memory", "MiB of activations of an image",
                    [](const Costs& c) { return double(c.info.inference_bytes) / kMib; }));
    figures.push_back(cost_figure(all, "cost-speed", "Accuracy by speed", "images per second",
                                  [](const Costs& c) -> std::optional<double> {
                                      if (!c.speed) return std::nullopt;
                                      return c.speed->images_per_second;
                                  }));
    std::erase_if(figures, [](const Figure& figure) { return figure.empty(); });
    return finding;
}

Finding analyze_second(const AnalysisRequest& request, std::vector<AnalysedModel>& models) {
    PointChart chart{.name = "second",
                     .title = "Accuracy on a second test set",
                     .x_label = "top-1 on " + request.data,
                     .y_label = "top-1 on " + request.second,
                     .x_unit = ChartUnit::percent,
                     .y_unit = ChartUnit::percent,
                     .points = {},
                     .fit = true};
    Finding finding{{"A second test set",
                     "Models above the line lose less than the others where nobody chose anything: "
                     "they have overfitted less (figures 4.4 and 6.11 of the thesis).",
                     {},
                     {{"model", "first", "second", "above the line"}}},
                    nlohmann::json::object()};
    const DatasetPtr first = open_limited(request.data, request);
    const DatasetPtr second = open_limited(request.second, request);
    for_fitting("second", request, models, [&](AnalysedModel& subject) {
        const auto on = [&](const DatasetPtr& data) {
            return top1(request, subject.file, subject.model, *subject.executor, data,
                        subject.name);
        };
        const double x = on(first);
        chart.points.push_back({subject.name, x, on(second), ""});
    });
    std::vector<std::pair<double, double>> points;
    for (const NamedPoint& one : chart.points) points.emplace_back(one.x, one.y);
    const std::optional<LineFit> fit = fit_line(points);
    finding.numbers["models"] = nlohmann::json::array();
    for (const NamedPoint& one : chart.points) {
        nlohmann::json json{{"model", one.name}, {"first", one.x}, {"second", one.y}};
        if (fit) json["above_the_line"] = one.y - fit->at(one.x);
        finding.numbers["models"].push_back(std::move(json));
        finding.section.table.push_back({one.name, percent_text(one.x), percent_text(one.y),
                                         fit ? percent_text(one.y - fit->at(one.x)) : ""});
    }
    if (fit)
        finding.numbers["fit"] = {{"slope", fit->slope}, {"offset", fit->offset}, {"r2", fit->r2}};
    finding.section.figures.push_back(point_figure(chart));
    return finding;
}

}  // namespace cait
