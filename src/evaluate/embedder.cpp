#include "evaluate/embedder.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/levels.h"
#include "data/open_dataset.h"
#include "evaluate/fingerprint.h"
#include "models/describe.h"

namespace cait {

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

EmbedSubject EmbedSubject::of_data(const std::string& uri, Split part,
                                   const WorkObserver& observer) {
    EmbedSubject subject{open_dataset(uri, part), uri, part};
    for (const std::string& note : subject.images->notes()) observer.note(note);
    return subject;
}

EmbedSubject EmbedSubject::of_files(const std::vector<std::string>& files) {
    return {unlabelled_images(files), {}, Split::any};
}

Embedder::Embedder(Model model, std::unique_ptr<Executor> executor, EmbedOptions options,
                   WorkObserver observer)
    : model_(std::move(model)),
      executor_(std::move(executor)),
      options_(std::move(options)),
      observer_(std::move(observer)),
      fingerprint_(model_fingerprint(model_)) {
    preparer_of(model_);  // throws where the model takes no such images
}

EmbeddingMaker Embedder::maker() const {
    return {model_.info().name, fingerprint_, options_.tap, options_.flip};
}

EmbeddedSet Embedder::embed(const EmbedSubject& subject, const std::string& what,
                            Vectors* logits) const {
    const WorkObserver::Progress progress = observer_.begin(what, "images");
    EmbedOptions options = options_;
    options.with_logits = logits != nullptr;
    options.progress = [&](std::size_t done) { progress(done, subject.images->size()); };
    Embedding found = cait::embed(*executor_, model_, subject.images, options);
    for (const BadImage& bad : found.bad) observer_.note("left out: " + bad.reason);
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

}  // namespace cait
