// `cait weights`: the published weights, listed and fetched by the names of their models.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "data.h"
#include "models/catalogue.h"
#include "output.h"
#include "progress.h"
#include "weights/published/weight_cache.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

struct ListArguments {
    std::vector<std::string> filters;
    bool json = false;
};

struct WeightsGetArguments {
    std::string model;
    std::string out;
};

bool matches(const PublishedWeights& weights, const std::vector<std::string>& filters) {
    return filters.empty() || std::ranges::any_of(filters, [&](const std::string& filter) {
               return weights.model.find(filter) != std::string_view::npos;
           });
}

// Publishers do not name sizes; float32 parameters are nearly all of a file.
std::int64_t about_bytes(const PublishedWeights& weights) {
    std::int64_t parameters = 0;
    for (const ParamSpec& spec : record(configure(std::string(weights.model))).params)
        parameters += spec.shape.count();
    return parameters * std::int64_t(sizeof(float));
}

nlohmann::json to_json(const PublishedWeights& weights, bool cached) {
    nlohmann::json entry{{"model", weights.model},
                         {"weights", weights.argument()},
                         {"address", weights.address()},
                         {"file", weights.file()},
                         {"by_hand", weights.by_hand()},
                         {"cached", cached},
                         {"sha256", nlohmann::json()},
                         {"note", weights.note},
                         {"about_bytes", about_bytes(weights)}};
    if (const auto checksum = weights.checksum()) entry["sha256"] = checksum->hex;
    return entry;
}

void print_line(const PublishedWeights& weights, bool cached) {
    const char* state = cached ? "cached" : weights.by_hand() ? "by hand" : "";
    print_out("{:<34} {:<18} {:>9} {:<7} {}\n", weights.model, weights.argument(),
              "~" + bytes_text(about_bytes(weights)), state, weights.address());
}

void list(const ListArguments& arguments) {
    std::vector<PublishedWeights> found;
    std::ranges::copy_if(published_weights(), std::back_inserter(found),
                         [&](const auto& one) { return matches(one, arguments.filters); });
    if (found.empty()) find_published(arguments.filters.front(), "");  // says what is nearest
    const fs::path cache = weight_cache();
    nlohmann::json entries = nlohmann::json::array();
    for (const PublishedWeights& weights : found) {
        const bool cached = fs::exists(cache / weights.file());
        arguments.json ? entries.push_back(to_json(weights, cached)) : print_line(weights, cached);
    }
    if (arguments.json) return print_json(entries);
    print_out("\n{} files, kept in {}\n", found.size(), cache.string());
}

void get(const WeightsGetArguments& arguments) {
    const std::size_t colon = std::min(arguments.model.find(':'), arguments.model.size());
    const PublishedWeights& weights =
        find_published(arguments.model.substr(0, colon),
                       arguments.model.substr(std::min(colon + 1, arguments.model.size())));
    const fs::path target =
        arguments.out.empty() ? weight_cache() / weights.file() : fs::path(arguments.out);
    DownloadOptions options;
    options.progress = byte_progress(weights.file());
    const Downloaded outcome = fetch_published(weights, target, options);
    print_error("{}: {}\n", weights.file(), text_of(outcome));
    print_out("{}\n", target.string());
}

void add_list(CLI::App& weights) {
    CLI::App* command =
        add_command(weights, "list", "Show what is published, and what is here already");
    set_example(*command, "cait weights list cait_s deit3\n  cait weights list --json");
    auto arguments = std::make_shared<ListArguments>();
    command
        ->add_option("models", arguments->filters, "Only models whose name contains one of these")
        ->type_name("TEXT");
    add_json_flag(*command, arguments->json);
    command->callback([arguments] { list(*arguments); });
}

void add_get(CLI::App& weights) {
    CLI::App* command = add_command(
        weights, "get", "Fetch the weights of a model, check them and print where they are");
    set_example(*command,
                "cait weights get cait_s24_224\n"
                "  cait weights get deit3_base_patch16_224:21k --out base.pth");
    auto arguments = std::make_shared<WeightsGetArguments>();
    command->add_option("model", arguments->model, "A name from `cait weights list`")
        ->type_name("MODEL[:VARIANT]")
        ->required();
    command->add_option("--out", arguments->out, "File to write; default: in the cache")
        ->type_name("FILE");
    command->callback([arguments] { get(*arguments); });
}

void add_weights(CLI::App& command, const Invocation&) {
    command.require_subcommand(1);
    command.footer(
        "\nFiles are kept in $CAIT_CACHE/weights, by default ~/.cache/cait/weights. CAIT_MIRROR "
        "names an\n"
        "address or a folder to fetch from instead of the publishers.\n\n"
        "Example:\n  cait weights list cait\n"
        "  cait predict --model cait_s24_224 --weights official cat.jpg\n");
    add_list(command);
    add_get(command);
}

const RegisterCommand weights_row({"weights", CommandGroup::data,
                                   "List and fetch published weights", add_weights});

}  // namespace

}  // namespace cait::app
