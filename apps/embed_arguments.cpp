#include "embed_arguments.h"

#include "data.h"
#include "image_list.h"
#include "models/catalogue.h"
#include "progress.h"

namespace cait::app {

void EmbedArguments::add_layer_options(CLI::App& command) {
    command
        .add_option("--tap", tap,
                    "Which layer: features (the trunk's output), logits, tokens (their mean) …")
        ->capture_default_str();
    command.add_flag("--flip", flip, "Mean of the vectors of image and mirror image");
    command.add_flag("--skip-bad", skip_bad,
                     "Leave out up to 5 % of unreadable images instead of refusing the first");
}

void EmbedArguments::add_to(CLI::App& command) {
    model.keeps = true;
    model.add_to(command, true);
    model.add_fresh_head_to(command);
    model.preparation.add_to(command);
    add_layer_options(command);
    command.get_option("--skip-bad")->group(kImageOptions);
    executor.batch = ExecutorOptions::kBySize;
    executor.add_to(command);
    add_threads_option(command, threads);
}

ModelWords EmbedArguments::words() const {
    ModelWords result = model.words(weights);
    if (!reads_class_head(tap)) result.load.allow_fresh_head = true;
    return result;
}

Embedder make_embedder(const EmbedArguments& arguments, Model model) {
    const ExecutorOptions running = arguments.executor.for_model(model);
    EmbedOptions options;
    options.tap = arguments.tap;
    options.flip = arguments.flip;
    options.batch = running.batch;
    options.threads = arguments.threads;
    options.skip_bad = arguments.skip_bad;
    auto executor = make_executor(model, running, arguments.model.kept());
    return {std::move(model), std::move(executor), std::move(options), terminal_observer()};
}

EmbedSubject embed_files(const std::vector<std::string>& words) {
    std::vector<std::string> files;
    for (const ListedImage& image : list_files(words)) files.push_back(image.file);
    return EmbedSubject::of_files(files);
}

}  // namespace cait::app
