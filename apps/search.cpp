// `cait index`: images as vectors that can be searched; `cait search`: what looks like this one.
#include "search.h"

#include <fmt/format.h>

#include "image/codec/encode.h"
#include "input_files.h"
#include "model_arguments.h"

namespace cait::app {

namespace {

// Before anything is read.
void check(const IndexArguments& arguments) {
    arguments.embed.model.settings();
    const int sources = int(!arguments.files.empty()) + int(!arguments.data.empty()) +
                        int(!arguments.vectors.empty());
    if (sources != 1)
        throw UsageError("expected image files, --data NAME or --vectors FILE, one of the three");
    if (arguments.vectors.empty() == arguments.embed.weights.empty())
        throw UsageError(arguments.vectors.empty()
                             ? "expected --weights FILE, which makes vectors of the images"
                             : "--vectors: its vectors are made already, --weights is not needed");
    for (const std::string& output : {arguments.output, beside_index(arguments.output)}) {
        OutputFile(output)
            .not_in_weights(arguments.embed.weights)
            .not_in(arguments.files)
            .not_in(arguments.vectors)
            .not_in_data(arguments.data);
        check_output(output);
    }
}

void check(const SearchArguments& arguments) {
    arguments.embed.model.settings();
    const bool pictures = !arguments.pictures.files.empty() || !arguments.pictures.data.empty();
    if (pictures) arguments.pictures.check();
    if (pictures == !arguments.rows.empty())
        throw UsageError("expected images, --data NAME or --row N to search by, one of the three");
    if (pictures && arguments.embed.weights.empty())
        throw UsageError("expected --weights FILE, the model that made the index");
    if (arguments.sheet.empty()) return;
    check_image_name(arguments.sheet);
    OutputFile(arguments.sheet)
        .not_in_weights(arguments.embed.weights)
        .not_in(arguments.pictures.files)
        .not_in(arguments.index)
        .not_in(beside_index(arguments.index));
    check_output(arguments.sheet);
}

void add_index(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait index --weights runs/flowers --data folder:photos --output photos.faiss\n"
                "  cait index --vectors x.safetensors --factory IVF256,PQ16 --output photos.faiss");
    auto arguments = std::make_shared<IndexArguments>();
    add_weights_option(command, arguments->embed.weights);
    arguments->embed.add_to(command);
    command.add_option("images", arguments->files, "Images, as for `cait embed`")
        ->type_name("IMAGE|FOLDER|GLOB|LIST|-");
    command
        .add_option("--data", arguments->data,
                    "Instead of files: a data set; its training part unless ?split= says so")
        ->type_name("URI")
        ->group(kImageOptions);
    command
        .add_option("--vectors", arguments->vectors, "Instead of images: a file of `cait embed`")
        ->type_name("FILE.safetensors");
    command
        .add_option("--factory", arguments->factory,
                    "FAISS's description of the index: Flat is exact; IVF256,Flat, IVF256,PQ16 or "
                    "HNSW32 are faster on millions of images")
        ->capture_default_str();
    command.add_option("--output", arguments->output, "The index; names go into NAME.safetensors")
        ->required();
    command.callback([arguments, invocation] {
        check(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand index_row({"index", CommandGroup::search,
                                 "Make images searchable by what a network sees in them",
                                 add_index});

void add_search(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait search --index photos.faiss --weights runs/flowers rose.jpg --sheet found.png\n"
        "  cait search --index photos.faiss --row 17 --k 5 --json");
    auto arguments = std::make_shared<SearchArguments>();
    add_weights_option(command, arguments->embed.weights);
    arguments->embed.add_to(command);
    command.add_option("--index", arguments->index, "What `cait index` wrote")
        ->type_name("FILE")
        ->required();
    arguments->pictures.add_to(command);
    command.add_option("--row", arguments->rows, "Search by images of the index itself, from 0")
        ->allow_extra_args(false)
        ->take_all();
    command.add_option("--k", arguments->k, "Images to find")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    command.add_option("--parameters", arguments->parameters,
                       "FAISS's settings of the search, e.g. nprobe=16 or efSearch=64");
    command
        .add_option("--sheet", arguments->sheet,
                    "Also draw queries and answers, framed by the finest level that agrees")
        ->type_name("FILE.png");
    command.add_option("--side", arguments->side, "Of a picture on the sheet, in pixels")
        ->check(CLI::Range(32, 1024))
        ->capture_default_str();
    add_json_flag(command, arguments->json);
    command.callback([arguments, invocation] {
        check(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand search_row({"search", CommandGroup::search,
                                  "Find the images of an index that a network finds similar",
                                  add_search});

}  // namespace

}  // namespace cait::app
