// `cait data split`: divides a data set in two lists, with every class in both in proportion.
#include <fmt/format.h>

#include <filesystem>

#include "command.h"
#include "data.h"
#include "data/levels.h"
#include "data/sources/csv_dataset.h"
#include "data/split.h"
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
    write_csv_dataset(*dataset, parts.kept, kept_file);
    write_csv_dataset(*dataset, parts.held_out, held_out_file);
    if (arguments.data.json)
        return print_json(
            {{"dataset", arguments.data.uri},
             {"parts",
              {{{"dataset", "csv:" + kept_file}, {"images", parts.kept.size()}},
               {{"dataset", "csv:" + held_out_file}, {"images", parts.held_out.size()}}}}});
    print_out("csv:{}: {} images\ncsv:{}: {} images\n", kept_file, parts.kept.size(), held_out_file,
              parts.held_out.size());
}

}  // namespace

void add_data_split(CLI::App& data) {
    CLI::App* command =
        add_command(data, "split", "Hold out a part of every class, as two CSV lists");
    set_example(*command,
                "cait data split folder:photos --fraction 0.1 --output train.csv,val.csv\n"
                "  cait data stats csv:val.csv");
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
