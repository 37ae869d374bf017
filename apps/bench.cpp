// `cait bench`: how fast a model is on this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "command.h"
#include "data.h"
#include "engine/bench_model.h"
#include "evaluate/segment_classes.h"
#include "evaluate/translate/bench_translate.h"
#include "executor.h"
#include "kernels/precision_names.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "output.h"
#include "system/cpu_limit.h"
#include "system/machine.h"

namespace cait::app {

namespace {

struct BenchArguments {
    ModelOptions model;
    std::string subject;  // a preset or a file
    std::string weights;
    std::vector<std::string> batches{"1", "8"};
    std::vector<std::string> precisions{"fp32"};
    std::vector<int> threads;
    std::vector<std::string> sizes;
    BenchEffort effort;
    bool layers = false;
    bool json = false;
};

// A file, a run's folder, or the name of a preset, which then has fresh weights.
FoundModel find(const BenchArguments& arguments) {
    ModelWords words = arguments.model.words(arguments.weights);
    words.load.allow_fresh_head = true;  // nobody sees its answers
    (std::filesystem::exists(arguments.subject) ? words.weights : words.model) = arguments.subject;
    return find_model(words);
}

OpenedModel open_at(FoundModel found, const std::string& size) {
    if (!size.empty()) found.words.settings.emplace_back("image_size", size);
    return open_with_notes(found);
}

// The largest power of two whose images take no more than a quarter of the memory.
std::size_t largest_batch(const Model& model) {
    constexpr std::size_t kMost = 4096;
    const CommonConfig& common = model.spec().architecture->common();
    const auto image = std::size_t(common.channels * common.image_size.height *
                                   common.image_size.width * std::int64_t(sizeof(float)));
    const std::size_t room = memory_limit().usable() / 4;
    std::size_t batch = 1;
    while (batch < kMost && 2 * batch * image <= room) batch *= 2;
    return batch;
}

// 0: as many as fit.
std::size_t batch_of(const std::string& word) {
    if (word == "max") return 0;
    std::size_t used = 0;
    unsigned long value = 0;
    try {
        value = std::stoul(word, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    constexpr unsigned long kMost = 65536;
    if (used != word.size() || word.empty() || value < 1 || value > kMost)
        throw UsageError(
            fmt::format("--batch: expected numbers from 1 to {} or max, found {}", kMost, word));
    return value;
}

nlohmann::json to_json(const BenchResult& r) {
    const nlohmann::json size = r.image_height == r.image_width
                                    ? nlohmann::json(r.image_height)
                                    : nlohmann::json({r.image_height, r.image_width});
    return {{"model", r.model},
            {"batch", r.with.batch},
            {"precision", name_of(r.with.precision)},
            {"threads", r.with.threads},
            {"image_size", size},
            {"runs", r.runs},
            {"images_per_second", r.images_per_second},
            {"p50_ms", r.p50_ms},
            {"p99_ms", r.p99_ms},
            {"mean_ms", r.mean_ms},
            {"gflops", r.gflops},
            {"peak_share", r.peak_share},
            {"start_ms", r.start_ms},
            {"first_ms", r.first_ms},
            {"weights_mib", r.weights_mib},
            {"activations_mib", r.activations_mib},
            {"resident_mib", r.resident_mib},
            {"peak_mib", r.peak_mib}};
}

void print_header() {
    print_out("{}\n", machine_line());
    print_out("{:<28} {:>9} {:>5} {:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8}\n", "model",
              "image", "batch", "type", "threads", "images/s", "p50 ms", "p99 ms", "GFLOP/s",
              "peak", "start ms", "peak MiB");
}

void print_row(const BenchResult& r) {
    print_out(
        "{:<28} {:>9} {:>5} {:>5} {:>7} {:>9.1f} {:>8.2f} {:>8.2f} {:>8.1f} {:>5.0f}% "
        "{:>8.0f} {:>8.0f}\n",
        r.model, fmt::format("{}x{}", r.image_height, r.image_width), r.with.batch,
        name_of(r.with.precision), r.with.threads, r.images_per_second, r.p50_ms, r.p99_ms,
        r.gflops, 100 * r.peak_share, r.start_ms + r.first_ms, r.peak_mib);
    flush_out();
}

void print_layers(const std::vector<LayerTime>& layers) {
    print_out("\n{:<44} {:<18} {:>9} {:>6}\n", "layer", "op", "ms", "share");
    for (const LayerTime& layer : layers)
        print_out("{:<44} {:<18} {:>9.3f} {:>5.1f}%\n", layer.name, layer.op, layer.ms,
                  100 * layer.share);
    std::map<std::string, LayerTime> by_op;
    for (const LayerTime& layer : layers) {
        by_op[layer.op].ms += layer.ms;
        by_op[layer.op].share += layer.share;
    }
    std::vector<std::pair<std::string, LayerTime>> sorted(by_op.begin(), by_op.end());
    std::ranges::sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second.ms; });
    print_out("\n{:<63} {:>9} {:>6}\n", "op", "ms", "share");
    for (const auto& [op, sum] : sorted)
        print_out("{:<63} {:>9.3f} {:>5.1f}%\n", op, sum.ms, 100 * sum.share);
    print_out("\n");
}

nlohmann::json to_json(const std::vector<LayerTime>& layers) {
    nlohmann::json list = nlohmann::json::array();
    for (const LayerTime& layer : layers)
        list.push_back(
            {{"name", layer.name}, {"op", layer.op}, {"ms", layer.ms}, {"share", layer.share}});
    return list;
}

nlohmann::json to_json(const TranslateBenchResult& r) {
    return {{"model", r.model},
            {"batch", r.with.batch},
            {"precision", name_of(r.with.precision)},
            {"threads", r.with.threads},
            {"beam", r.beam},
            {"pieces", kBenchPieces},
            {"runs", r.runs},
            {"sentences_per_second", r.sentences_per_second},
            {"pieces_per_second", r.pieces_per_second},
            {"p50_ms", r.p50_ms},
            {"p99_ms", r.p99_ms},
            {"mean_ms", r.mean_ms},
            {"start_ms", r.start_ms},
            {"first_ms", r.first_ms},
            {"kept_mib", r.kept_mib},
            {"peak_mib", r.peak_mib}};
}

// A model that translates: sentences in place of images, and a search in place of one pass.
void bench_translator(const BenchArguments& arguments, const Model& model,
                      const std::vector<std::size_t>& batches, const std::vector<int>& threads) {
    for (const auto& [given, option] :
         {std::pair{!arguments.sizes.empty(), "--size"}, {arguments.layers, "--layers"}})
        if (given)
            throw UsageError(
                fmt::format("{}: expected a model for images, found {}, which "
                            "translates",
                            option, model.spec().name));
    nlohmann::json list = nlohmann::json::array();
    if (!arguments.json) {
        print_out("{}\n", machine_line());
        print_out("{:<28} {:>5} {:>5} {:>7} {:>4} {:>11} {:>9} {:>8} {:>8} {:>8} {:>8}\n", "model",
                  "batch", "type", "threads", "beam", "sentences/s", "pieces/s", "p50 ms", "p99 ms",
                  "start ms", "peak MiB");
    }
    for (const std::string& precision : arguments.precisions)
        for (const int count : threads)
            for (const std::size_t batch : batches) {
                const TranslateBenchResult r = bench_translate(
                    model, {batch == 0 ? 32 : batch, precision_of(precision), count},
                    arguments.effort);
                if (arguments.json)
                    list.push_back(to_json(r));
                else
                    print_out(
                        "{:<28} {:>5} {:>5} {:>7} {:>4} {:>11.2f} {:>9.0f} {:>8.2f} {:>8.2f} "
                        "{:>8.0f} {:>8.0f}\n",
                        r.model, r.with.batch, name_of(r.with.precision), r.with.threads, r.beam,
                        r.sentences_per_second, r.pieces_per_second, r.p50_ms, r.p99_ms,
                        r.start_ms + r.first_ms, r.peak_mib);
                flush_out();
                if (output_lost()) return;
            }
    if (arguments.json) print_json(list);
}

void run(const BenchArguments& arguments) {
    arguments.model.settings();
    std::vector<std::size_t> batches;
    for (const std::string& word : arguments.batches) batches.push_back(batch_of(word));
    const std::vector<std::string> keep = arguments.model.kept();
    if (!keep.empty() &&
        std::ranges::find(arguments.precisions, "int8") == arguments.precisions.end())
        throw UsageError(fmt::format("quantize.keep: expected precision int8, found {}",
                                     fmt::join(arguments.precisions, ",")));
    const FoundModel found = find(arguments);
    enter_sandbox_for({});
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::string> sizes =
        arguments.sizes.empty() ? std::vector<std::string>{""} : arguments.sizes;
    const std::vector<int> threads =
        arguments.threads.empty() ? std::vector{default_threads()} : arguments.threads;
    for (const std::string& size : sizes) {
        const Model model = open_at(found, size).model;
        if (takes_text(model.spec())) return bench_translator(arguments, model, batches, threads);
        if (list.empty() && detects(model))
            print_error("note: {}: of a detector the first stage is measured\n", model.spec().name);
        if (!arguments.json && list.empty()) print_header();
        for (const std::string& precision : arguments.precisions)
            for (const int count : threads)
                for (const std::size_t batch : batches) {
                    BenchCase with{batch == 0 ? largest_batch(model) : batch,
                                   precision_of(precision), count};
                    if (with.precision == Precision::int8) with.keep = keep;
                    const BenchResult result = bench_model(model, with, arguments.effort);
                    nlohmann::json entry = to_json(result);
                    if (!arguments.json) print_row(result);
                    if (arguments.layers) {
                        const auto layers = bench_layers(model, with, arguments.effort);
                        if (arguments.json)
                            entry["layers"] = to_json(layers);
                        else
                            print_layers(layers);
                    }
                    list.push_back(std::move(entry));
                    if (output_lost()) return;
                }
    }
    if (arguments.json) print_json(list);
}

void add_bench(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait bench cait_xxs24_224 --batch 1,8 --precision fp32,bf16,int8\n"
                "  cait bench runs/flowers --batch 1 --threads 1,2 --layers\n"
                "  cait bench cait_xxs24_224 --batch max --runs 30");
    auto arguments = std::make_shared<BenchArguments>();
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    command
        .add_option("subject", arguments->subject,
                    "A model file, a run's folder, or a preset, which then has fresh weights")
        ->type_name("MODEL|FILE")
        ->required();
    add_weights_option(command, arguments->weights);
    command
        .add_option("--batch", arguments->batches,
                    "Images at a time, one or more numbers; max: as many as fit")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--precision", arguments->precisions, "One or more of fp32, bf16 and int8")
        ->delimiter(',')
        ->check(CLI::IsMember(precision_names()))
        ->capture_default_str();
    command
        .add_option("--threads", arguments->threads, "One or more numbers; default: all processors")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    command
        .add_option("--size", arguments->sizes,
                    "Sides of the image, N or HxW; default: the model's")
        ->delimiter(',');
    command.add_option("--seconds", arguments->effort.seconds, "How long each is measured")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    command.add_option("--runs", arguments->effort.runs,
                       "Exactly this number of runs instead, as in papers (30)");
    command.add_flag("--layers", arguments->layers, "Also where the time goes, step by step");
    add_json_flag(command, arguments->json, "Print a JSON list");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand bench_row({"bench", CommandGroup::machine, "Measure how fast a model is here",
                                 add_bench});

}  // namespace

}  // namespace cait::app
