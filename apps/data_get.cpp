// `cait data get`: fetches a public data set, or goes on fetching it, and checks what has arrived.
#include <fmt/format.h>

#include <filesystem>

#include "command.h"
#include "data.h"
#include "data/formats/tar_archive.h"
#include "output.h"
#include "progress.h"
#include "system/download/download_list.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

struct GetArguments {
    std::string name;
    std::string folder;
    std::string base;
    bool list = false;
    bool no_unpack = false;
    bool json = false;
};

void print_list(bool json) {
    nlohmann::json list = nlohmann::json::array();
    if (!json) print_out("{:<16} {:>10}  {}\n", "name", "size", "content");
    for (const ListedDataset& dataset : downloadable_datasets()) {
        if (!json) {
            print_out("{:<16} {:>10}  {}\n", dataset.name, bytes_text(std::int64_t(dataset.size())),
                      dataset.summary);
            continue;
        }
        nlohmann::json files = nlohmann::json::array();
        for (const ListedFile& file : dataset.files)
            files.push_back({{"name", file.name},
                             {"bytes", file.expected.size.value_or(0)},
                             {"md5", file.expected.checksum->hex}});
        list.push_back({{"name", dataset.name},
                        {"summary", dataset.summary},
                        {"address", dataset.address},
                        {"bytes", dataset.size()},
                        {"files", files}});
    }
    if (json) print_json(list);
}

Downloaded fetch(const std::string& address, const ListedFile& file, const fs::path& folder) {
    DownloadOptions options;
    options.progress = byte_progress(file.name);
    return download(address, file.expected, folder / file.name, options);
}

void run(const GetArguments& arguments) {
    if (arguments.list) return print_list(arguments.json);
    if (arguments.name.empty()) throw UsageError("get: expected the NAME of a data set, or --list");
    const ListedDataset& dataset = find_downloadable(arguments.name);
    const fs::path folder = arguments.folder.empty() ? dataset.name : arguments.folder;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Error(fmt::format("{}: cannot create: {}", folder.string(), error.message()));

    nlohmann::json files = nlohmann::json::array();
    for (const ListedFile& file : dataset.files) {
        const std::string base = arguments.base.empty() ? dataset.address : arguments.base;
        const Downloaded outcome = fetch(join_address(base, file.name), file, folder);
        if (file.name.ends_with(".tar.gz") && !arguments.no_unpack)
            unpack_tar_gz(folder / file.name, folder);
        files.push_back({{"name", file.name}, {"outcome", text_of(outcome)}});
        if (!arguments.json)
            print_out("{}: {}, {}\n", (folder / file.name).string(),
                      bytes_text(std::int64_t(file.expected.size.value_or(0))), text_of(outcome));
    }
    const std::string uri = fmt::format("{}:{}", dataset.name, folder.string());
    if (arguments.json) return print_json({{"dataset", uri}, {"files", files}});
    print_out("the data set is {}\n", uri);
}

}  // namespace

void add_data_get(CLI::App& data) {
    CLI::App* command = add_command(data, "get", "Fetch a public data set");
    set_example(*command,
                "cait data get cifar10 --to data/cifar10\n"
                "  cait data get --list");
    auto arguments = std::make_shared<GetArguments>();
    command->add_option("name", arguments->name, "One of --list")->type_name("NAME");
    command->add_option("--to", arguments->folder, "Folder for the files; default: NAME")
        ->type_name("FOLDER");
    command
        ->add_option("--base", arguments->base,
                     "Address of a folder that has the same files, instead of the authors'")
        ->type_name("URL");
    command->add_flag("--list", arguments->list, "Show what can be fetched");
    command->add_flag("--no-unpack", arguments->no_unpack, "Leave archives as they are");
    add_json_flag(*command, arguments->json);
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
