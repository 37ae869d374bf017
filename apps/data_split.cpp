// `cait data split`: divides a data set in two lists, with every class in both in proportion.
#include <fmt/format.h>

#include <filesystem>

#include "command.h"
#include "data.h"
#include "data/levels.h"
#include "data/sources/csv_dataset.h"
#include "data/split.h"
#include "data/write_coco.h"
#include "input_files.h"
#include "output.h"

namespace cait::app {

namespace {

struct SplitArguments {
    DataArguments data;
    double fraction = 0.1;
    std::uint64_t seed = 0;
    std::vector<std::string> output;
};

// Returns the name of the data set that the file is.
std::string write_part(const Dataset& dataset, std::span<const std::size_t> indices,
                       const std::string& file) {
    if (dataset.has_label_images())
        throw UsageError(fmt::format(
            "{}: expected labels of whole images or objects in them, found label images, which a "
            "list cannot hold",
            dataset.source()));
    if (dataset.has_objects())
        return fmt::format("coco:{}?images={}", file,
                           write_coco_dataset(dataset, indices, file).string());
    write_csv_dataset(dataset, indices, file);
    return "csv:" + file;
}

void run(const SplitArguments& arguments) {
    namespace fs = std::filesystem;
    const auto& [kept_file, held_out_file] = std::tie(arguments.output[0], arguments.output[1]);
    if (fs::absolute(kept_file).lexically_normal() ==
        fs::absolute(held_out_file).lexically_normal())
        throw UsageError(fmt::format("--output: expected two files, found '{}' twice", kept_file));
    enter_sandbox_for(arguments.output);
    const DatasetPtr dataset = arguments.data.open_training_part();
    for (const std::string& output : arguments.output)
        OutputFile(output).not_in_data(arguments.data.uri).not_in(*dataset);
    const SplitIndices parts =
        stratified_split(labels_of(*dataset), arguments.fraction, arguments.seed);
    if (parts.held_out.empty())
        throw Error(fmt::format("{}: {} of {} images is none; expected a larger --fraction",
                                dataset->source(), arguments.fraction, dataset->size()));
    const std::string kept = write_part(*dataset, parts.kept, kept_file);
    const std::string held_out = write_part(*dataset, parts.held_out, held_out_file);
    if (arguments.data.json)
        return print_json({{"dataset", arguments.data.uri},
                           {"parts",
                            {{{"dataset", kept}, {"images", parts.kept.size()}},
                             {{"dataset", held_out}, {"images", parts.held_out.size()}}}}});
    print_out("{}: {} images\n{}: {} images\n", kept, parts.kept.size(), held_out,
              parts.held_out.size());
}

}  // namespace

void add_data_split(CLI::App& data) {
    CLI::App* command = add_command(data, "split", "Hold out a part of every class, as two lists");
    set_example(*command,
                "cait data split folder:photos --fraction 0.1 --output train.csv,val.csv\n"
                "  cait data stats csv:val.csv\n"
                "  cait data split yolo:cells --output train.json,val.json   # data with boxes");
    auto arguments = std::make_shared<SplitArguments>();
    arguments->data.add_to(*command);
    command->add_option("--fraction", arguments->fraction, "Share of the images in the second list")
        ->capture_default_str();
    command->add_option("--seed", arguments->seed, "Another seed holds out other images")
        ->capture_default_str();
    command->add_option("--output", arguments->output, "The two lists to write")
        ->type_name("FILE,FILE")
        ->delimiter(',')
        ->expected(2)
        ->required();
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
