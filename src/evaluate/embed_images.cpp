// cait/embed.h on top of the engine.
#include "cait/embed.h"

#include "data/open_dataset.h"
#include "engine/engine_executor.h"
#include "evaluate/embed.h"
#include "models/catalogue.h"

namespace cait {

namespace {

ImageVectors embed_all(const Model& model, const DatasetPtr& images,
                       const EmbeddingOptions& options) {
    EmbedOptions running;
    running.tap = options.tap;
    running.flip = options.flip;
    running.batch = options.session.batch;
    if (options.loader_threads > 0) running.threads = options.loader_threads;
    running.skip_bad = options.skip_bad;
    if (options.progress)
        running.progress = [&](std::size_t done) { options.progress(done, images->size()); };
    Embedding found = embed(EngineExecutor(model, options.session), model, images, running);
    if (options.normalise) normalise(found.vectors, model.spec().name);
    ImageVectors result;
    for (const std::size_t index : found.indices) {
        const auto file = images->file(index);
        result.names.push_back(file ? file->string() : images->name(index));
    }
    result.columns = found.vectors.columns;
    result.values = std::move(found.vectors.values);
    for (const BadImage& bad : found.bad) result.left_out.push_back(bad.reason);
    return result;
}

}  // namespace

ImageVectors embed_files(const Model& model, const std::vector<std::string>& files,
                         const EmbeddingOptions& options) {
    return embed_all(model, unlabelled_images(files), options);
}

ImageVectors embed_data(const Model& model, const std::string& data,
                        const EmbeddingOptions& options) {
    return embed_all(model, open_dataset(data, Split::train), options);
}

}  // namespace cait
