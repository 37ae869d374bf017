#include "train/cluster_labels.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "data/levels.h"
#include "measure/embed.h"
#include "search/kmeans.h"
#include "session/engine_executor.h"

namespace cait {

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
    const Clusters found = k_means(embedding.vectors, {.clusters = clusters,
                                                       .rounds = std::size_t(part.rounds),
                                                       .seed = seed,
                                                       .threads = threads});
    ClassList classes;
    for (std::size_t c = 0; c < clusters; ++c)
        classes.names.push_back(fmt::format("cluster {}", c));
    return {relabelled(images, std::move(classes), found.of_row),
            fmt::format("{} images in {} clusters by the features of {}, after {} rounds",
                        images->size(), clusters, part.weights, found.rounds)};
}

}  // namespace cait
