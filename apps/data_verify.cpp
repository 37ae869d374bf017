// `cait data verify`: decodes every image and lists those that cannot be read.
#include <fmt/format.h>

#include "command.h"
#include "data.h"
#include "data/dataset_uri.h"
#include "data/open_dataset.h"
#include "data/sources/tar_shards.h"
#include "data/statistics.h"
#include "data_open.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

struct VerifyArguments {
    DataArguments data;
    int threads = 1;
};

// What of one data set cannot be read.
std::vector<BadImage> unreadable(const Dataset& dataset, int threads) {
    Progress progress("verify", "images");
    return verify(dataset,
                  {threads, [&](std::size_t done) { progress.update(done, dataset.size()); }});
}

// What is wrong with the files that hold the images, however well those can be read.
std::vector<std::string> damage_of(const std::string& part) {
    const DatasetUri uri = parse_dataset_uri(part);
    return uri.scheme == "tar" ? cut_shards(uri) : std::vector<std::string>();
}

void run(const VerifyArguments& arguments) {
    enter_sandbox_for({});
    const std::vector<std::string> parts = dataset_parts(arguments.data.uri);
    nlohmann::json list = nlohmann::json::array();
    std::vector<BadImage> all_bad;
    std::string sources;
    std::size_t images = 0;
    std::vector<std::string> all_damage;
    for (const std::string& part : parts) {
        const DatasetPtr dataset = open_data(part);
        const std::vector<BadImage> bad = unreadable(*dataset, arguments.threads);
        const std::vector<std::string> damage = damage_of(part);
        list.push_back({{"dataset", part},
                        {"images", dataset->size()},
                        {"unreadable", bad_images_json(bad)},
                        {"damaged", damage}});
        if (!arguments.data.json) {
            for (const BadImage& image : bad) print_out("{}\n", image.reason);
            for (const std::string& text : damage) print_out("{}\n", text);
            if (bad.empty() && damage.empty())
                print_out("{}: all {} images can be read\n", part, dataset->size());
        }
        all_bad.insert(all_bad.end(), bad.begin(), bad.end());
        all_damage.insert(all_damage.end(), damage.begin(), damage.end());
        images += dataset->size();
        sources += (sources.empty() ? "" : ", ") + dataset->source();
    }
    if (arguments.data.json) {
        if (parts.size() == 1)
            print_json(list.front());
        else
            print_json({{"dataset", arguments.data.uri}, {"parts", list}});
    }
    if (!all_bad.empty())
        throw BadImagesError(fmt::format("{}: {}", sources, describe(all_bad, images)), all_bad);
    if (!all_damage.empty()) throw Error(all_damage.front());
}

}  // namespace

void add_data_verify(CLI::App& data) {
    CLI::App* command = add_command(
        data, "verify", "List the images that cannot be read; exit code 1 if there are any");
    set_example(*command,
                "cait data verify folder:photos\n"
                "  cait data verify folder:photos/train");
    auto arguments = std::make_shared<VerifyArguments>();
    arguments->data.add_to(*command);
    add_threads_option(*command, arguments->threads);
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
