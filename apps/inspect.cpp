// `cait inspect`: what is in a weight file, whether it fits a model, and a model's graph.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "command.h"
#include "graph/fuse.h"
#include "models/catalogue.h"
#include "walkers/expected.h"
#include "weights/printable.h"
#include "weights/weight_file.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

struct InspectArguments {
    std::string file;
    ModelOptions model;
    bool graph = false;
    bool primitives = false;
    bool fused = false;
    bool training = false;
    std::vector<std::string> taps;
    bool json = false;
};

struct Totals {
    std::int64_t values = 0;
    std::int64_t bytes = 0;
    std::map<std::string, std::int64_t> tensors_by_dtype;
};

Totals totals_of(const WeightFile& file) {
    Totals totals;
    for (const NamedTensor& entry : file.tensors) {
        totals.values += entry.tensor.count();
        totals.bytes += std::int64_t(entry.tensor.byte_size());
        ++totals.tensors_by_dtype[std::string(name_of(entry.tensor.dtype()))];
    }
    return totals;
}

void print_json(const WeightFile& file) {
    const Totals totals = totals_of(file);
    nlohmann::json tensors = nlohmann::json::array();
    for (const NamedTensor& entry : file.tensors)
        tensors.push_back({{"name", entry.name},
                           {"dtype", name_of(entry.tensor.dtype())},
                           {"shape", entry.tensor.shape().extents()}});
    const nlohmann::json summary{{"format", file.format},   {"values", totals.values},
                                 {"bytes", totals.bytes},   {"metadata", file.metadata},
                                 {"skipped", file.skipped}, {"tensors", tensors}};
    using Handler = nlohmann::json::error_handler_t;
    fmt::print("{}\n", summary.dump(2, ' ', false, Handler::replace));
}

void print_text(const WeightFile& file, const std::string& path) {
    const Totals totals = totals_of(file);
    fmt::print("{}: {}, {} tensors, {}values, {}\n", path, file.format, file.tensors.size(),
               count_text(totals.values), bytes_text(totals.bytes));
    for (const auto& [dtype, count] : totals.tensors_by_dtype)
        fmt::print("  {} x {}\n", count, dtype);
    constexpr std::size_t kLongest = 200;
    for (const auto& [key, value] : file.metadata)
        fmt::print("  {} = {}\n", printable(key), printable(value, kLongest));
    for (const std::string& name : file.skipped) fmt::print("  skipped: {}\n", printable(name));
    for (const NamedTensor& entry : file.tensors)
        fmt::print("{:<48} {:<9} {}\n", printable(entry.name), name_of(entry.tensor.dtype()),
                   entry.tensor.shape().to_string());
}

void inspect_graph(const InspectArguments& arguments) {
    if (arguments.model.model.empty()) throw UsageError("--graph: expected --model NAME as well");
    if (arguments.fused && arguments.primitives)
        throw UsageError("--fused and --primitives: expected one of them, found both");
    const RecordOptions options{.mode = arguments.training ? Mode::train : Mode::infer,
                                .taps = arguments.taps};
    const Graph graph =
        record(configure(arguments.model.model, arguments.model.settings()), options);
    if (arguments.fused) return fmt::print("{}", print(fuse(graph)));
    fmt::print("{}", print(arguments.primitives ? decompose(graph) : graph));
}

// Loads the file as that model; a misfit is an error that lists what differs.
void check_fit(const InspectArguments& arguments, const std::string& path) {
    const Model model = Model::load(path, arguments.model.model, arguments.model.settings(),
                                    arguments.model.load_options());
    fmt::print(stderr, "fits {}\n", model.info().name);
    for (const std::string& note : model.notes()) fmt::print(stderr, "note: {}\n", note);
}

void run(const InspectArguments& arguments) {
    if (arguments.graph) return inspect_graph(arguments);
    if (arguments.file.empty())
        throw UsageError("inspect: expected a FILE, or --graph with --model NAME");
    const std::string path = weights_file(arguments.file, arguments.model.model);
    const WeightFile file = open_weights(path, {.prefer_ema = arguments.model.prefer_ema});
    if (!arguments.model.model.empty()) check_fit(arguments, path);  // a misfit is all that is said
    if (arguments.json)
        print_json(file);
    else
        print_text(file, path);
}

}  // namespace

void add_inspect_command(CLI::App& app) {
    CLI::App* command =
        add_command(app, "inspect", "Show what is in a weight file, or a model's graph",
                    "cait inspect S24_224.pth --model cait_s24_224\n"
                    "  cait inspect --graph --model cait_xxs24_224 --set model.depth=1\n"
                    "  cait inspect --graph --fused --model cait_xxs24_224 --train");
    auto arguments = std::make_shared<InspectArguments>();
    command->add_option("file", arguments->file,
                        "Weights: .safetensors, .pth, .pt, the folder of a run, or official");
    arguments->model.add_to(*command, true);
    command->add_flag("--graph", arguments->graph, "Print the graph of --model");
    command->add_flag("--primitives", arguments->primitives,
                      "With --graph: composites taken apart");
    command->add_flag("--fused", arguments->fused,
                      "With --graph: branches in one piece, as they run");
    command->add_flag("--train", arguments->training, "With --graph: as training records it");
    add_repeatable(*command, "--tap", arguments->taps,
                   "With --graph: an output that is wanted; may be repeated");
    command->add_flag("--json", arguments->json, "Print JSON");
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
