// `cait data verify`: decodes every image and lists those that cannot be read.
#include <fmt/format.h>

#include <cstdio>

#include "command.h"
#include "data.h"
#include "data/statistics.h"
#include "progress.h"

namespace cait::app {

namespace {

struct VerifyArguments {
    DataArguments data;
    int threads = 1;
};

void run(const VerifyArguments& arguments) {
    const DatasetPtr dataset = arguments.data.open();
    std::vector<BadImage> bad;
    {
        Progress progress("verify", "images");
        bad = verify(*dataset, {arguments.threads,
                                [&](std::size_t done) { progress.update(done, dataset->size()); }});
    }
    if (arguments.data.json) {
        print_json({{"dataset", arguments.data.uri},
                    {"images", dataset->size()},
                    {"unreadable", to_json(bad)}});
    } else {
        for (const BadImage& image : bad) fmt::print("{}\n", one_line(image.reason));
        if (bad.empty())
            fmt::print("{}: all {} images can be read\n", one_line(arguments.data.uri),
                       dataset->size());
    }
    if (!bad.empty())
        throw BadImagesError(
            fmt::format("{}: {}", dataset->source(), describe(bad, dataset->size())), bad);
}

}  // namespace

void add_data_verify(CLI::App& data) {
    CLI::App* command = add_command(
        data, "verify", "List the images that cannot be read; exit code 1 if there are any",
        "cait data verify folder:photos/train");
    auto arguments = std::make_shared<VerifyArguments>();
    arguments->data.add_to(*command);
    add_threads_option(*command, arguments->threads);
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
