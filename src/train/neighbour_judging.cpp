#include "train/neighbour_judging.h"

#include <algorithm>
#include <cmath>

#include "evaluate/embed.h"
#include "evaluate/nearest.h"
#include "train/recipe/objective_rows.h"

namespace cait {

namespace {

struct Share {
    Vectors vectors;                   // of unit length
    std::vector<std::int64_t> images;  // in the whole data set
};

Share embed_share(const Executor& executor, const Model& model, const DatasetPtr& images,
                  const NeighbourJudging& options, bool skip_bad, std::size_t done,
                  std::size_t total, const ProcessGroup& group) {
    std::vector<std::size_t> own;
    for (auto i = std::size_t(group.rank()); i < images->size(); i += std::size_t(group.world()))
        own.push_back(i);
    EmbedOptions embedding;
    embedding.tap = options.tap;
    embedding.batch = options.batch;
    embedding.threads = options.threads;
    embedding.skip_bad = skip_bad;
    embedding.progress = [&](std::size_t count) {
        if (options.progress) options.progress(done + count, total);
    };
    Share share;
    if (own.empty()) return share;
    Embedding found =
        embed(executor, model, group.world() == 1 ? images : subset(images, own), embedding);
    share.vectors = std::move(found.vectors);
    normalise(share.vectors, "validation");
    for (const std::size_t index : found.indices) share.images.push_back(std::int64_t(own[index]));
    return share;
}

// The shares of all processes, in the order of the data set, whatever their number.
Share gather(Share own, ProcessGroup& group) {
    if (group.world() == 1) return own;
    std::vector<std::pair<std::int64_t, std::vector<float>>> rows;
    std::size_t columns = 0;
    for (int rank = 0; rank < group.world(); ++rank) {
        const bool mine = rank == group.rank();
        at::Tensor sizes = at::tensor(
            {std::int64_t(own.images.size()), std::int64_t(own.vectors.columns)}, at::kLong);
        group.broadcast(sizes, rank);
        const auto count = sizes[0].item<std::int64_t>(), width = sizes[1].item<std::int64_t>();
        if (count == 0) continue;
        columns = std::size_t(width);
        at::Tensor images =
            mine ? at::tensor(own.images, at::kLong) : at::empty({count}, at::kLong);
        at::Tensor values = mine ? at::tensor(own.vectors.values) : at::empty({count * width});
        group.broadcast(images, rank);
        group.broadcast(values, rank);
        for (std::int64_t i = 0; i < count; ++i) {
            const float* row = values.data_ptr<float>() + i * width;
            rows.emplace_back(images.data_ptr<std::int64_t>()[i],
                              std::vector<float>(row, row + width));
        }
    }
    std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
    Share all{.vectors = {.rows = rows.size(), .columns = columns, .values = {}}, .images = {}};
    for (const auto& [image, row] : rows) {
        all.images.push_back(image);
        all.vectors.values.insert(all.vectors.values.end(), row.begin(), row.end());
    }
    return all;
}

}  // namespace

NeighbourJudging neighbour_judging(const Recipe& recipe, int threads,
                                   std::function<void(std::size_t, std::size_t)> progress) {
    double temperature = recipe.memory.sigma;
    for (const ObjectiveTerm* term : terms_of(recipe.loss.name))
        if (term->vote_temperature > 0) temperature = term->vote_temperature;
    return {.tap = recipe.eval.features == "trunk" ? "features" : "projection",
            .neighbours = std::size_t(recipe.eval.neighbours),
            .temperature = temperature,
            .batch = std::size_t(recipe.data.val_batch),
            .threads = threads,
            .progress = std::move(progress)};
}

Metrics judge_by_neighbours(const Executor& executor, const Model& model, const JudgedData& data,
                            const NeighbourJudging& options, ProcessGroup& group) {
    const std::size_t world = std::size_t(group.world());
    const std::size_t first = data.collection->size() / world;
    const std::size_t total = first + data.queries->size() / world;
    const Share collection = gather(embed_share(executor, model, data.collection, options,
                                                /*skip_bad=*/true, 0, total, group),
                                    group);
    const Share queries = gather(embed_share(executor, model, data.queries, options,
                                             /*skip_bad=*/false, first, total, group),
                                 group);
    std::vector<std::int64_t> labels;
    for (const std::int64_t image : collection.images)
        labels.push_back(data.collection->label(std::size_t(image)));
    const std::size_t k = std::min(options.neighbours, labels.size());
    const std::vector<Neighbour> found =
        nearest(queries.vectors, collection.vectors, {.k = k, .threads = options.threads});
    const std::size_t classes = data.collection->classes().size();
    Metrics metrics(classes);
    std::vector<float> logits(classes);
    for (std::size_t q = 0; q < queries.images.size(); ++q) {
        const std::vector<double> votes =
            knn_votes(std::span(found).subspan(q * k, k), labels, classes, options.temperature);
        // A class that no neighbour has is not impossible: the loss stays finite.
        constexpr double kLeast = 1e-6;
        std::ranges::transform(votes, logits.begin(),
                               [](double vote) { return float(std::log(vote + kLeast)); });
        const auto image = std::size_t(queries.images[q]);
        metrics.add(image, logits, data.queries->label(image));
    }
    return metrics;
}

}  // namespace cait
