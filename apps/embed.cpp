// `cait embed`: what a network sees in images, as vectors for other programs.
#include <fmt/format.h>

#include <cstring>

#include "embed_arguments.h"
#include "evaluate/match_classes.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "output.h"
#include "progress.h"
#include "weights/npy.h"

namespace cait::app {

namespace {

struct Arguments {
    EmbedArguments embed;
    std::vector<std::string> files;
    std::string data;
    std::string output;
    std::string labels;
};

void check(const Arguments& arguments) {
    arguments.embed.model.settings();
    if (arguments.files.empty() == arguments.data.empty())
        throw UsageError("expected image files or --data NAME, one of the two");
    if (!arguments.output.ends_with(".npy") && !arguments.output.ends_with(".safetensors"))
        throw UsageError(fmt::format(
            "{}: expected an output name that ends with .npy or .safetensors", arguments.output));
    if (!arguments.labels.empty() && arguments.data.empty())
        throw UsageError("--labels: image files have none; name a data set by --data");
    for (const std::string& output : {arguments.output, arguments.labels})
        if (!output.empty()) {
            OutputFile(output)
                .not_in_weights(arguments.embed.weights)
                .not_in(arguments.files)
                .not_in_data(arguments.data);
            check_output(output);
        }
}

Tensor labels_of(const EmbeddedSet& set, const Dataset& images) {
    Tensor labels = Tensor::empty(DType::i64, {std::int64_t(set.indices.size())});
    std::vector<std::int64_t> values;
    for (const std::size_t index : set.indices) values.push_back(images.label(index));
    std::memcpy(labels.mutable_bytes().data(), values.data(), labels.byte_size());
    return labels;
}

// With labels in the order of the model's classes where it knows those of the data by name;
// otherwise they stay in the data's order, which a note tells.
DatasetPtr in_order_of(const Model& model, const DatasetPtr& images) {
    if (model.classes().empty()) return images;
    try {
        return match_classes(images, model.classes(), model.classes().size(), model.spec().name);
    } catch (const Error& error) {
        print_notes(
            {fmt::format("--labels: in the order of the data's classes, not of the model's: "
                         "{}",
                         error.what())});
        return images;
    }
}

void run(const Arguments& arguments) {
    check(arguments);
    const FoundModel found = find_model(arguments.embed.words());
    enter_sandbox_for({arguments.output, arguments.labels, arguments.embed.executor.cache});
    const Embedder embedder = make_embedder(arguments.embed, open_with_notes(found).model);
    const EmbedSubject subject =
        arguments.data.empty()
            ? embed_files(arguments.files)
            : EmbedSubject::of_data(arguments.data, Split::train, terminal_observer());
    for (const std::string& output : {arguments.output, arguments.labels})
        OutputFile(output).not_in(*subject.images);
    const EmbeddedSet set = embedder.embed(subject, "embed");
    if (arguments.output.ends_with(".npy"))
        write_npy(arguments.output,
                  Tensor::of({std::int64_t(set.vectors.rows), std::int64_t(set.vectors.columns)},
                             set.vectors.values));
    else
        write_embedded_set(arguments.output, set);
    if (!arguments.labels.empty())
        write_npy(arguments.labels, labels_of(set, *in_order_of(embedder.model(), subject.images)));
    print_error("wrote {}: {} vectors of {} numbers\n", arguments.output, set.vectors.rows,
                set.vectors.columns);
}

void add_embed(CLI::App& command, const Invocation&) {
    set_example(
        command,
        "cait embed --weights runs/flowers --data folder:photos --output x.npy --labels y.npy\n"
        "  cait embed --weights runs/flowers photos/ --flip --output x.safetensors");
    auto arguments = std::make_shared<Arguments>();
    add_weights_option(command, arguments->embed.weights)->required();
    arguments->embed.add_to(command);
    command
        .add_option("images", arguments->files,
                    "JPEG, PNG or WebP files, folders or patterns of them, lists of names (.txt), "
                    "or - for a list on stdin")
        ->type_name("IMAGE|FOLDER|GLOB|LIST|-");
    command
        .add_option("--data", arguments->data,
                    "Instead of files: a data set; its training part unless ?split= says so")
        ->type_name("URI")
        ->group(kImageOptions);
    command
        .add_option("--output", arguments->output,
                    ".npy for the vectors, .safetensors for names and labels with them")
        ->required();
    command
        .add_option("--labels", arguments->labels,
                    "Also the labels of --data, .npy: numbers of the model's classes where it "
                    "knows them by name, otherwise of the data's")
        ->type_name("FILE.npy");
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand embed_row({"embed", CommandGroup::search,
                                 "Write what a network sees in images, a vector each", add_embed});

}  // namespace

}  // namespace cait::app
