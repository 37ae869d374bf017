// `cait data`: looks at data sets, checks, divides, packs and fetches them.
#include "data.h"

#include <fmt/format.h>

#include <algorithm>

#include "command.h"
#include "data/open_dataset.h"
#include "data_open.h"
#include "output.h"
#include "system/cpu_limit.h"

namespace cait::app {

namespace {

std::string sources_text() {
    std::string text = "\nA data set is named by one of\n";
    for (const DataSource& source : data_sources())
        text += fmt::format("  {}\n      {}\n", source.form, source.help);
    return text;
}

}  // namespace

void DataArguments::add_to(CLI::App& command) {
    command.add_option("dataset", uri, "Name of the data set, e.g. folder:photos/train")
        ->type_name("URI")
        ->required();
    add_json_flag(command, json);
}

DatasetPtr DataArguments::open() const { return open_data(uri); }

DatasetPtr DataArguments::open_training_part() const {
    DatasetPtr dataset = open_data(uri, Split::train);
    if (dataset_parts(uri).size() > 1)
        print_error("note: the training part: {}\n", dataset->source());
    if (dataset->has_sentences())
        throw UsageError(
            fmt::format("{}: expected a data set of images, found sentences and "
                        "their translations",
                        dataset->source()));
    return dataset;
}

void add_threads_option(CLI::App& command, int& threads) {
    constexpr int kMost = 256;
    threads = std::min(usable_cores(), kMost);
    const OptionGroup group(command, kExecutionOptions);
    command.add_option("--threads", threads, "How many images are read at a time")
        ->check(CLI::Range(1, kMost))
        ->capture_default_str();
}

nlohmann::json bad_images_json(std::span<const BadImage> images) {
    nlohmann::json list = nlohmann::json::array();
    for (const BadImage& image : images)
        list.push_back({{"index", image.index}, {"name", image.name}, {"reason", image.reason}});
    return list;
}

namespace {

void add_data(CLI::App& command, const Invocation&) {
    command.require_subcommand(1);
    command.footer(sources_text() + "\n`cait data COMMAND --help` shows an example.");
    add_data_stats(command);
    add_data_preview(command);
    add_data_verify(command);
    add_data_split(command);
    add_data_pack(command);
    add_data_get(command);
}

const RegisterCommand data_row({"data", CommandGroup::data,
                                "Look at, check, divide, pack and fetch data sets", add_data});

}  // namespace

}  // namespace cait::app
