#include "train/cluster_labels.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "data/levels.h"
#include "engine/engine_executor.h"
#include "evaluate/embed.h"
#include "evaluate/kmeans.h"

namespace cait {

namespace {

DatasetPtr labelled(const DatasetPtr& images, std::size_t clusters,
                    std::vector<std::int64_t> of_image) {
    ClassList classes;
    for (std::size_t c = 0; c < clusters; ++c)
        classes.names.push_back(fmt::format("cluster {}", c));
    return relabelled(images, std::move(classes), std::move(of_image));
}

}  // namespace

ClusteredData known_clusters(const ClusterPart& part, const DatasetPtr& images,
                             std::vector<std::int64_t> of_image, const std::string& source) {
    if (of_image.size() != images->size())
        throw Error(
            fmt::format("{}: clusters: expected one for each of the {} training images, found {}",
                        source, images->size(), of_image.size()));
    for (const std::int64_t cluster : of_image)
        if (cluster < 0 || cluster >= part.count)
            throw Error(
                fmt::format("{}: clusters: expected 0 to {}, as clusters.count is {}, found {}",
                            source, part.count - 1, part.count, cluster));
    return {labelled(images, std::size_t(part.count), std::move(of_image)),
            fmt::format("{} images in the {} clusters that the run began with", images->size(),
                        part.count)};
}

ClusteredData cluster_labels(const ClusterPart& part, const DatasetPtr& images, std::uint64_t seed,
                             int threads) {
    const auto clusters = std::size_t(part.count);
    if (clusters > images->size())
        throw UsageError(
            fmt::format("clusters.count: expected at most the {} training images, "
                        "found {}",
                        images->size(), clusters));
    const Model model = Model::load(part.weights);
    const EngineExecutor executor(model, {.threads = threads});
    Embedding embedding = embed(executor, model, images, {.threads = threads});
    normalise(embedding.vectors, part.weights);
    Clusters found = k_means(embedding.vectors, {.clusters = clusters,
                                                 .rounds = std::size_t(part.rounds),
                                                 .seed = seed,
                                                 .threads = threads});
    return {labelled(images, clusters, std::move(found.of_row)),
            fmt::format("{} images in {} clusters by the features of {}, after {} rounds",
                        images->size(), clusters, part.weights, found.rounds)};
}

}  // namespace cait
