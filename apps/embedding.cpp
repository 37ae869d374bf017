#include "embedding.h"

#include <algorithm>

#include "data.h"
#include "data/file_dataset.h"
#include "data/levels.h"
#include "data_open.h"
#include "evaluate/embed.h"
#include "evaluate/fingerprint.h"
#include "image_list.h"
#include "models/describe.h"
#include "output.h"
#include "progress.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

// The labels of the images that could be read.
std::vector<LabelLevel> levels_of(const Dataset& dataset, const std::vector<std::size_t>& kept) {
    std::vector<LabelLevel> levels = all_levels(dataset);
    for (LabelLevel& level : levels) {
        std::vector<std::int64_t> labels;
        for (const std::size_t index : kept) labels.push_back(level.labels[index]);
        level.labels = std::move(labels);
    }
    return levels;
}

}  // namespace

void EmbedArguments::add_to(CLI::App& command) {
    model.add_to(command, true);
    command
        .add_option("--tap", tap,
                    "Which layer: features (the trunk's output), logits, tokens (their mean) …")
        ->capture_default_str();
    command.add_flag("--flip", flip, "Mean of the vectors of image and mirror image");
    executor.batch = ExecutorOptions::kBySize;
    executor.add_to(command);
    add_threads_option(command, threads);
    const OptionGroup group(command, kImageOptions);
    command.add_flag("--skip-bad", skip_bad,
                     "Leave out up to 5 % of unreadable images instead of refusing the first");
}

EmbedSubject EmbedSubject::of_data(const std::string& uri, Split part) {
    return {open_data(uri, part), uri, part};
}

EmbedSubject EmbedSubject::of_files(const std::vector<std::string>& words) {
    FileList list;
    for (const ListedImage& image : list_files(words)) list.files.push_back(image.file);
    return {make_file_dataset("images", std::move(list)), {}, Split::any};
}

Embedder::Embedder(const EmbedArguments& arguments, Model model)
    : arguments_(arguments),
      model_(std::move(model)),
      running_(arguments.executor.for_model(model_)),
      executor_(make_executor(model_, running_)),
      fingerprint_(model_fingerprint(model_)) {
    preparer_of(model_);  // throws where the model takes no such images
}

EmbeddingMaker Embedder::maker() const {
    return {model_.info().name, fingerprint_, arguments_.tap, arguments_.flip};
}

EmbeddedSet Embedder::embed(const EmbedSubject& subject, const std::string& title,
                            Vectors* logits) const {
    Progress progress(title, "images");
    EmbedOptions options;
    options.tap = arguments_.tap;
    options.flip = arguments_.flip;
    options.batch = running_.batch;
    options.threads = arguments_.threads;
    options.skip_bad = arguments_.skip_bad;
    options.with_logits = logits != nullptr;
    options.progress = [&](std::size_t done) { progress.update(done, subject.images->size()); };
    Embedding found = cait::embed(*executor_, model_, subject.images, options);
    for (const BadImage& bad : found.bad) print_error("note: left out: {}\n", bad.reason);
    EmbeddedSet set;
    for (const std::size_t index : found.indices) {
        const auto file = subject.images->file(index);
        set.names.push_back(file ? std::filesystem::absolute(*file).lexically_normal().string()
                                 : subject.images->name(index));
    }
    set.data = subject.data;
    set.part = std::string(name_of(subject.part));
    if (!subject.data.empty()) set.levels = levels_of(*subject.images, found.indices);
    set.indices = std::move(found.indices);
    set.vectors = std::move(found.vectors);
    if (logits != nullptr) *logits = std::move(found.logits);
    set.maker = maker();
    return set;
}

Model load_embedding_model(const EmbedArguments& arguments) {
    Model model =
        Model::load(weights_file(arguments.weights, arguments.model.model), arguments.model.model,
                    arguments.model.settings(), arguments.model.load_options());
    for (const std::string& note : model.notes()) print_error("note: {}\n", note);
    return model;
}

}  // namespace cait::app
