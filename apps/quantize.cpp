// `cait quantize`: a model file whose weights are int8, and what that costs.
#include "cait/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "data_open.h"
#include "evaluate/int8_comparison.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "output.h"
#include "progress.h"
#include "report/analysis_report.h"
#include "report/line_chart.h"

namespace cait::app {

namespace {

struct QuantizeArguments {
    ModelOptions model;
    std::string input, output;
    std::string data;    // --calibrate
    std::string smooth;  // auto, off or a number; empty: auto with data, off without
    std::size_t images = 64;
    std::size_t limit = 0;  // of images that are compared; 0: all
    bool skip_bad = false;
    std::string report;
    bool json = false;
};

QuantizeOptions options_of(const QuantizeArguments& arguments) {
    using Smoothing = QuantizeOptions::Smoothing;
    QuantizeOptions options;
    options.keep = arguments.model.kept();
    const std::string word = !arguments.smooth.empty() ? arguments.smooth
                             : arguments.data.empty()  ? "off"
                                                       : "auto";
    if (word == "off") return options;
    if (arguments.data.empty())
        throw UsageError("--smooth: expected --calibrate DATA, whose images show what layers see");
    options.smoothing = word == "auto" ? Smoothing::choose : Smoothing::fixed;
    if (word == "auto") return options;
    char* end = nullptr;
    options.strength = std::strtod(word.c_str(), &end);
    if (*end != '\0' || !(options.strength >= 0 && options.strength <= 1))
        throw UsageError(
            fmt::format("--smooth: expected auto, off or a number from 0 to 1, found '{}'", word));
    return options;
}

// What was found out, for the three ways of showing it.
struct QuantizeResult {
    const QuantizeArguments& arguments;
    const QuantizedModel& quantized;
    std::optional<Int8Comparison> compared;
    std::uintmax_t file_bytes = 0;

    double share() const {
        return double(file_bytes) / double(std::max<std::int64_t>(1, quantized.bytes_before));
    }
};

std::string decibels(const std::optional<double>& ratio) {
    return ratio ? fmt::format("{:.1f}", *ratio) : "-";
}

std::string strength_text(const LayerError& layer) {
    return layer.smoothing ? fmt::format("{}", *layer.smoothing) : "-";
}

// Those that cost the logits most, or whose weights lose most where no images were given.
std::vector<LayerError> worst_layers(const QuantizedModel& quantized) {
    constexpr std::size_t kShown = 5;
    std::vector<LayerError> layers = quantized.layers;
    std::ranges::stable_sort(layers, {}, [](const LayerError& layer) {
        return layer.logits_db.value_or(layer.weights_db);
    });
    layers.resize(std::min(layers.size(), kShown));
    return layers;
}

void print_result(const QuantizeResult& result) {
    print_out("{:<40} {:<18} {:>10} {:>10} {:>9} {:>7}\n", "layer", "op", "weights dB",
              "results dB", "logits dB", "smooth");
    for (const LayerError& layer : result.quantized.layers)
        print_out("{:<40} {:<18} {:>10.1f} {:>10} {:>9} {:>7}\n", layer.name, layer.op,
                  layer.weights_db, decibels(layer.results_db), decibels(layer.logits_db),
                  strength_text(layer));
    print_out("\n");
    std::string worst;
    for (const LayerError& layer : worst_layers(result.quantized))
        worst += (worst.empty() ? "" : ", ") + layer.name;
    print_out("{:<12} {}\n", "worst", worst);
    if (result.quantized.logits_db)
        print_out("{:<12} {:.1f} dB against fp32, {} images\n", "logits",
                  *result.quantized.logits_db, result.quantized.images);
    if (const auto& one = result.compared)
        print_out("{:<12} fp32 {:.2f} %, int8 {:.2f} %; same answer for {:.2f} % of {} images\n",
                  one->score, 100 * one->before, 100 * one->after, 100 * one->agreement,
                  one->images);
    print_out("{:<12} {}, {}, {:.3f} of fp32\n", "file", result.arguments.output,
              bytes_text(std::int64_t(result.file_bytes)), result.share());
}

nlohmann::json result_json(const QuantizeResult& result) {
    nlohmann::json layers = nlohmann::json::array();
    for (const LayerError& layer : result.quantized.layers) {
        nlohmann::json one{
            {"name", layer.name}, {"op", layer.op}, {"weights_db", layer.weights_db}};
        if (layer.results_db) one["results_db"] = *layer.results_db;
        if (layer.logits_db) one["logits_db"] = *layer.logits_db;
        if (layer.smoothing) one["smoothing"] = *layer.smoothing;
        layers.push_back(std::move(one));
    }
    nlohmann::json worst = nlohmann::json::array();
    for (const LayerError& layer : worst_layers(result.quantized)) worst.push_back(layer.name);
    nlohmann::json json{{"file", result.arguments.output},
                        {"file_bytes", result.file_bytes},
                        {"float_bytes", result.quantized.bytes_before},
                        {"share", result.share()},
                        {"images", result.quantized.images},
                        {"layers", std::move(layers)},
                        {"worst", std::move(worst)}};
    if (result.quantized.logits_db) json["logits_db"] = *result.quantized.logits_db;
    if (const auto& one = result.compared)
        json["compared"] = {{"images", one->images},
                            {"score", one->score},
                            {"fp32", one->before},
                            {"int8", one->after},
                            {"agreement", one->agreement}};
    return json;
}

Figure error_figure(const QuantizedModel& quantized) {
    LineChart chart{.title = "Signal to noise by layer, dB",
                    .x_label = "layer, in the order of the table",
                    .every_point = true,
                    .name = "int8-errors",
                    .y_label = "dB"};
    ChartSeries weights{"weights", {}}, results{"results", {}}, logits{"logits, alone", {}};
    for (std::size_t i = 0; i < quantized.layers.size(); ++i) {
        const LayerError& layer = quantized.layers[i];
        weights.points.emplace_back(double(i), layer.weights_db);
        if (layer.results_db) results.points.emplace_back(double(i), *layer.results_db);
        if (layer.logits_db) logits.points.emplace_back(double(i), *layer.logits_db);
    }
    for (ChartSeries* one : {&weights, &results, &logits})
        if (!one->points.empty()) chart.series.push_back(std::move(*one));
    return line_figure(chart);
}

void write_report(const QuantizeResult& result, const Model& model) {
    const QuantizedModel& quantized = result.quantized;
    AnalysisSection section{
        .title = "Layers",
        .why =
            "Ratio of signal to noise in decibels; 40 is an error of 1 %. Weights: of the "
            "rounded numbers alone. Results: of a layer's values, with the errors of all layers "
            "before it. Logits: where this layer alone is int8; the lowest hurt most.",
        .figures = {error_figure(quantized)},
        .table = {{"layer", "op", "weights", "results", "logits", "smoothing"}}};
    for (const LayerError& layer : quantized.layers)
        section.table.push_back({layer.name, layer.op, fmt::format("{:.1f}", layer.weights_db),
                                 decibels(layer.results_db), decibels(layer.logits_db),
                                 strength_text(layer)});
    std::vector<ReportFact> facts{
        {"model", model.info().name},
        {"file", fmt::format("{}, {:.3f} of fp32", bytes_text(std::int64_t(result.file_bytes)),
                             result.share())}};
    if (quantized.logits_db)
        facts.push_back(
            {"logits against fp32",
             fmt::format("{:.1f} dB, {} images", *quantized.logits_db, quantized.images)});
    if (const auto& one = result.compared) {
        facts.push_back({one->score, fmt::format("fp32 {:.2f} %, int8 {:.2f} %", 100 * one->before,
                                                 100 * one->after)});
        facts.push_back({"same answer",
                         fmt::format("{:.2f} % of {} images", 100 * one->agreement, one->images)});
    }
    write_analysis(result.arguments.report, "int8: " + model.info().name, facts, {section});
}

DatasetPtr limited(DatasetPtr data, std::size_t limit) {
    if (limit == 0 || limit >= data->size()) return data;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < limit; ++i) indices.push_back(i * data->size() / limit);
    return subset(std::move(data), indices);
}

Int8Comparison compare(const QuantizeArguments& arguments, const Model& before, const Model& after,
                       const DatasetPtr& data) {
    const auto classes = std::size_t(before.spec().architecture->common().classes);
    const DatasetPtr labelled =
        limited(match_data(data, before.classes(), classes, arguments.input), arguments.limit);
    Progress progress("comparing", "images");
    ComparisonOptions options;
    options.skip_bad = arguments.skip_bad;
    options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    return compare_int8(before, after, labelled, options);
}

void check(const QuantizeArguments& arguments) {
    if (!arguments.output.ends_with(".safetensors"))
        throw UsageError(fmt::format("{}: expected an output name that ends with .safetensors",
                                     arguments.output));
    for (const std::string& output : {arguments.output, arguments.report})
        if (!output.empty()) {
            OutputFile(output).not_in_weights(arguments.input).not_in_data(arguments.data);
            check_output(output);
        }
}

void run(const QuantizeArguments& arguments) {
    check(arguments);
    QuantizeOptions options = options_of(arguments);
    const FoundModel found = find_model(arguments.model.words(arguments.input));
    enter_sandbox_for({arguments.output, arguments.report});
    const Model model = open_with_notes(found).model;
    DatasetPtr data;
    Tensor images;
    if (!arguments.data.empty()) {
        data = open_data(arguments.data, Split::val);
        for (const std::string& output : {arguments.output, arguments.report})
            OutputFile(output).not_in(*data);
        images = calibration_images(model, data, arguments.images, arguments.skip_bad);
    }
    const QuantizedModel quantized = [&] {
        Progress progress("layers", "layers");
        options.progress = [&](std::size_t done, std::size_t total) {
            progress.update(done, total);
        };
        return quantize(model, images, options);
    }();
    quantized.model.save(arguments.output);
    QuantizeResult result{arguments, quantized, std::nullopt,
                          std::filesystem::file_size(arguments.output)};
    if (data && model.spec().architecture->common().classes > 0)
        result.compared = compare(arguments, model, Model::load(arguments.output), data);
    if (arguments.json)
        print_json(result_json(result));
    else
        print_result(result);
    if (!arguments.report.empty()) write_report(result, model);
}

void add_quantize(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait quantize runs/flowers flowers-int8.safetensors\n"
                "  cait quantize runs/flowers flowers-int8.safetensors --calibrate folder:photos "
                "--report int8.html\n"
                "  cait predict --weights flowers-int8.safetensors --precision int8 rose.jpg");
    auto arguments = std::make_shared<QuantizeArguments>();
    command
        .add_option("input", arguments->input,
                    "Weights: .safetensors, .pth, .pt, the folder of a run, or official")
        ->required()
        ->type_name("FILE");
    command.add_option("output", arguments->output, "The .safetensors file to write")
        ->required()
        ->type_name("OUT");
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.preparation.add_to(command);
    command
        .add_option("--calibrate", arguments->data,
                    "Data set whose images show what layers see, and on which int8 is compared "
                    "with fp32; its validation part unless ?split= says so")
        ->type_name("DATA");
    command
        .add_option("--smooth", arguments->smooth,
                    "Move a part of the activations' range into weights: auto measures for each "
                    "layer whether it helps, a number from 0 to 1 is for all layers; default: auto "
                    "with --calibrate, otherwise off")
        ->type_name("auto|off|NUMBER");
    command
        .add_option("--images", arguments->images, "Images of --calibrate that layers are shown")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    command.add_option("--limit", arguments->limit,
                       "Compare answers on N images of --calibrate, evenly spaced; default: all");
    command.add_flag("--skip-bad", arguments->skip_bad,
                     "Leave out up to 5 % of unreadable images instead of refusing the first");
    command.add_option("--report", arguments->report, "Also write a page with chart and table")
        ->type_name("FILE.html");
    add_json_flag(command, arguments->json, "Print JSON");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand quantize_row({"quantize", CommandGroup::data,
                                    "Write a model file whose weights are int8", add_quantize});

}  // namespace

}  // namespace cait::app
