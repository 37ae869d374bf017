// `cait data pack`: a data set as a few tar shards instead of many small files.
#include <fmt/format.h>

#include "command.h"
#include "data.h"
#include "data/pack.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

struct PackArguments {
    DataArguments data;
    std::string folder;
    PackOptions options;
    bool no_shuffle = false;
};

// As tar: reads them back.
std::string shards_uri(const PackArguments& arguments, std::size_t shards) {
    std::string folder = arguments.folder;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    const std::string stem = fmt::format("tar:{}/{}-", folder, arguments.options.prefix);
    if (shards == 1) return stem + "000000.tar";
    return fmt::format("{}{{000000..{:06}}}.tar", stem, shards - 1);
}

void run(const PackArguments& arguments) {
    enter_sandbox_for({arguments.folder});
    const DatasetPtr dataset = arguments.data.open_training_part();
    PackOptions options = arguments.options;
    options.shuffle = !arguments.no_shuffle;
    PackResult result;
    {
        Progress progress("pack", "images");
        options.progress = [&](std::size_t done) { progress.update(done, dataset->size()); };
        result = pack(*dataset, arguments.folder, options);
    }
    const std::string uri = shards_uri(arguments, result.shards);
    if (arguments.data.json)
        return print_json({{"dataset", uri},
                           {"images", result.images},
                           {"shards", result.shards},
                           {"bytes", result.bytes}});
    print_out("{}: {} images, {} shards, {}\n", uri, result.images, result.shards,
              bytes_text(std::int64_t(result.bytes)));
}

}  // namespace

void add_data_pack(CLI::App& data) {
    CLI::App* command = add_command(data, "pack", "Write a data set as tar shards");
    set_example(*command, "cait data pack folder:photos/train shards --shard-size 256MB");
    auto arguments = std::make_shared<PackArguments>();
    arguments->data.add_to(*command);
    command->add_option("folder", arguments->folder, "Folder to make for the shards")->required();
    command
        ->add_option("--shard-size", arguments->options.shard_bytes,
                     "A shard is closed when it is this large; e.g. 256MB or 1GiB")
        ->transform(CLI::AsSizeValue(true))
        ->check(CLI::PositiveNumber)
        ->type_name("BYTES")
        ->default_str("256MiB");
    command->add_option("--prefix", arguments->options.prefix, "Beginning of the shards' names")
        ->capture_default_str();
    command->add_option("--seed", arguments->options.seed, "Seed of the order")
        ->capture_default_str();
    command->add_flag(
        "--no-shuffle", arguments->no_shuffle,
        "Keep the order of the data set; reading in order then gives class after class");
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
