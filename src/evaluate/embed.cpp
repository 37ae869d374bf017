#include "evaluate/embed.h"

#include <fmt/format.h>

#include <memory>

#include "cait/error.h"
#include "data/file_dataset.h"
#include "evaluate/evaluation_loader.h"
#include "evaluate/flip_executor.h"
#include "models/catalogue.h"
#include "models/finite_logits.h"

namespace cait {

namespace {

constexpr const char* kLogitsTap = "logits";

// Appends one image's vector: the values themselves, or the mean of its tokens.
void append(std::span<const float> values, std::size_t columns, std::vector<float>& to) {
    const std::size_t tokens = values.size() / columns;
    for (std::size_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (std::size_t token = 0; token < tokens; ++token)
            sum += values[token * columns + column];
        to.push_back(float(sum / double(tokens)));
    }
}

void append_logits(const Tensor& logits, std::size_t image, const std::string& name, Vectors& to) {
    to.columns = std::size_t(logits.shape()[-1]);
    const auto values = logits.floats().subspan(image * to.columns, to.columns);
    check_finite_logits(values, name);
    to.values.insert(to.values.end(), values.begin(), values.end());
    ++to.rows;
}

std::size_t columns_of(const Tensor& values, const std::string& tap) {
    const std::size_t rank = values.shape().rank();
    if (rank != 2 && rank != 3)
        throw UsageError(fmt::format("tap {}: expected [B, D] or tokens [B, N, D], found {}", tap,
                                     values.shape().to_string()));
    return std::size_t(values.shape()[-1]);
}

}  // namespace

DatasetPtr unlabelled_images(const std::vector<std::string>& files) {
    FileList list;
    list.files = files;
    return make_file_dataset("images", std::move(list));
}

Embedding embed(const Executor& executor, const Model& model, const DatasetPtr& dataset,
                const EmbedOptions& options) {
    expect_images(model.spec());
    const FlipExecutor both(executor);
    const Executor& runs = options.flip ? static_cast<const Executor&>(both) : executor;
    const std::unique_ptr<Loader> loader = evaluation_loader(
        dataset, model.preprocessing(), model.spec().architecture->common().image_size,
        {.batch = options.batch,
         .threads = options.threads,
         .skip_bad = options.skip_bad,
         .targets = {}});
    std::vector<std::string> taps{options.tap};
    if (options.with_logits && options.tap != kLogitsTap) taps.emplace_back(kLogitsTap);
    Embedding result;
    while (const Batch* batch = loader->next()) {
        const std::map<std::string, Tensor> outputs = runs.run(batch->images(), taps);
        const Tensor& values = outputs.at(options.tap);
        Vectors& vectors = result.vectors;
        vectors.columns = columns_of(values, options.tap);
        if (vectors.values.empty()) vectors.values.reserve(dataset->size() * vectors.columns);
        const std::size_t each = values.floats().size() / batch->size;
        for (std::size_t i = 0; i < batch->size; ++i) {
            const auto sample = std::size_t(batch->keys[i].sample);
            append(values.floats().subspan(i * each, each), vectors.columns, vectors.values);
            check_finite_values(std::span(vectors.values).last(vectors.columns),
                                dataset->name(sample), options.tap);
            result.indices.push_back(sample);
            if (options.with_logits)
                append_logits(outputs.at(kLogitsTap), i, dataset->name(sample), result.logits);
        }
        vectors.rows = result.indices.size();
        if (options.progress) options.progress(vectors.rows);
    }
    result.bad = loader->bad_images();
    return result;
}

}  // namespace cait
