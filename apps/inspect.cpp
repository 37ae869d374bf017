// `cait inspect`: what is in a weight file, whether it fits a model, and a model's graph.
#include <fmt/format.h>

#include "base/printable.h"
#include "command.h"
#include "data.h"
#include "engine/plan.h"
#include "graph/passes.h"
#include "inspect_summary.h"
#include "kernels/precision_names.h"
#include "model_arguments.h"
#include "models/setting_facts.h"
#include "output.h"
#include "weights/verify_weights.h"
#include "weights/weight_file.h"

namespace cait::app {

namespace {

struct InspectArguments {
    std::string file;
    ModelOptions model;
    bool tensors = false;
    bool verify = false;
    bool graph = false;
    bool primitives = false;
    bool fused = false;
    std::string precision;  // whose formats are shown; empty: none
    bool training = false;
    std::vector<std::string> taps;
    bool json = false;
};

nlohmann::json tensors_json(const WeightFile& file) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const NamedTensor& entry : file.tensors)
        tensors.push_back({{"name", entry.name},
                           {"dtype", name_of(entry.tensor.dtype())},
                           {"shape", entry.tensor.shape().extents()}});
    return tensors;
}

void print_tensors(const WeightFile& file) {
    print_out("\n");
    for (const NamedTensor& entry : file.tensors)
        print_out("{:<48} {:<9} {}\n", printable(entry.name), name_of(entry.tensor.dtype()),
                  entry.tensor.shape().to_string());
}

// By --model, or by what the file says.
ModelSpec model_of(const InspectArguments& arguments, const std::string& path) {
    const SettingList settings = arguments.model.settings();
    if (path.empty() && arguments.model.model.empty())
        throw UsageError("--graph: expected a FILE that says its model, or --model NAME");
    ModelSpec spec = path.empty()
                         ? configure(arguments.model.model, settings)
                         : describe(open_weights(path), path, arguments.model.model, settings).spec;
    if (!arguments.model.allow_unused)
        refuse_unused_settings(spec, settings, {.trains = !arguments.graph || arguments.training});
    return spec;
}

// As a plan runs it, each node with the number format of its products. Weights that are computed
// once are still subgraphs.
void inspect_formats(const InspectArguments& arguments, const Graph& graph) {
    if (!arguments.fused || arguments.training)
        throw UsageError("--precision: expected --fused, without --train");
    const kernels::Format format = kernels::row_of(precision_of(arguments.precision)).format;
    const Graph runnable = engine::runnable_graph(graph);
    const auto formats = engine::node_formats(runnable, {format, arguments.model.kept()});
    write_out(print(runnable, [&](const Node& node) -> std::string {
        const auto found = formats.find(node.name);
        return found == formats.end() ? "" : kernels::row_of(found->second).precision_name;
    }));
}

void inspect_graph(const InspectArguments& arguments, const std::string& path) {
    if (arguments.fused && arguments.primitives)
        throw UsageError("--fused and --primitives: expected one of them, found both");
    const RecordOptions options{.mode = arguments.training ? Mode::train : Mode::infer,
                                .taps = arguments.taps};
    const Graph graph = record(model_of(arguments, path), options);
    if (!arguments.precision.empty()) return inspect_formats(arguments, graph);
    if (arguments.fused) return write_out(print(fuse(graph)));
    write_out(print(arguments.primitives ? decompose(graph) : graph));
}

// Loads the file as that model; a misfit is an error that lists what differs.
void check_fit(FoundModel found) {
    found.notes.clear();                       // printed already
    found.words.load.allow_fresh_head = true;  // a note tells of it
    const OpenedModel opened = open_model(found);
    print_error("fits {}\n", opened.model.spec().name);
    print_notes(opened.notes);
}

void run(InspectArguments arguments) {
    arguments.graph = arguments.graph || !arguments.precision.empty();
    if (!arguments.model.kept().empty() && arguments.precision != "int8")
        throw UsageError("quantize.keep: expected --precision int8");
    if (arguments.file.empty() && !arguments.graph)
        throw UsageError("inspect: expected a FILE, or --graph with --model NAME");
    ModelWords words = arguments.model.words(arguments.file);
    words.keeps_settings = true;
    const FoundModel found = find_model(words);
    const std::string& path = found.file;
    print_notes(found.notes);
    enter_sandbox_for({});
    if (arguments.graph) return inspect_graph(arguments, path);
    const WeightFile file = open_weights(path, {.prefer_ema = arguments.model.prefer_ema});
    if (arguments.verify) {
        const std::size_t checked = verify_weights(path);
        print_error("{}\n", checked == 0 ? "the file carries no checksums"
                                         : fmt::format("all {} checksums are right", checked));
    }
    if (!arguments.model.model.empty()) check_fit(found);         // only a misfit is reported
    if (!arguments.model.set.empty()) model_of(arguments, path);  // settings without effect
    const FileSummary summary =
        summarise(file, path, arguments.model.model, arguments.model.settings());
    if (arguments.json) {
        nlohmann::json json = summary_json(summary);
        json["tensors"] = tensors_json(file);
        return print_json(json);
    }
    print_summary(summary);
    if (arguments.tensors) print_tensors(file);
}

void add_inspect(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait inspect runs/flowers/best.safetensors\n"
                "  cait inspect S24_224.pth --model cait_s24_224 --tensors\n"
                "  cait inspect --graph --model cait_xxs24_224 --set model.depth=1\n"
                "  cait inspect --graph --fused --model cait_xxs24_224 --train\n"
                "  cait inspect --fused --precision int8 --model cait_xxs24_224");
    auto arguments = std::make_shared<InspectArguments>();
    command.add_option("file", arguments->file,
                       "Weights: .safetensors, .pth, .pt, the folder of a run, or official");
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    command.add_flag("--tensors", arguments->tensors, "Also list the tensors");
    command.add_flag("--verify", arguments->verify,
                     "Also read it whole and compare the checksums that it carries");
    add_json_flag(command, arguments->json, "Print JSON, with the tensors");
    const OptionGroup group(command, "Graph");
    command.add_flag("--graph", arguments->graph, "Print the model's graph instead");
    command.add_flag("--primitives", arguments->primitives, "With --graph: composites decomposed");
    command.add_flag("--fused", arguments->fused, "With --graph: branches fused, as they run");
    command
        .add_option("--precision", arguments->precision,
                    "With --fused: also the number format of each node's products")
        ->check(CLI::IsMember(precision_names()));
    command.add_flag("--train", arguments->training, "With --graph: as training records it");
    add_repeatable(command, "--tap", arguments->taps,
                   "With --graph: an output that is wanted; may be repeated");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand inspect_row({"inspect", CommandGroup::look,
                                   "Show what is in a weight file, or a model's graph",
                                   add_inspect});

}  // namespace

}  // namespace cait::app
