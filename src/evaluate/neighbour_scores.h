// How good vectors are, judged by neighbours: classification by k nearest (equation 2.6 of
// Touvron's thesis), category-level retrieval, and retrieval conditioned on a coarse prediction
// (equation 2.5), at any number of label levels at once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "evaluate/knn.h"
#include "evaluate/retrieval.h"
#include "evaluate/vectors.h"

namespace cait {

// Labels of both sides at one level, as numbers of the same classes.
struct MatchedLevel {
    std::string name;
    std::size_t classes = 0;
    std::vector<std::int64_t> queries;
    std::vector<std::int64_t> collection;
};

// Classes are matched by name; one that only the queries have is a class, too, that nothing of the
// collection belongs to.
MatchedLevel match_level(const LabelLevel& queries, const LabelLevel& collection);

// Both sides' vectors, of unit length.
struct NeighbourTask {
    const Vectors& queries;
    const Vectors& collection;
    // For each query the row of the collection that is the same image, or -1; empty: none is.
    std::vector<std::int64_t> same = {};
    int threads = 1;
};

// By name: `same` of a task. Empty where no image is on both sides.
std::vector<std::int64_t> same_images(const std::vector<std::string>& queries,
                                      const std::vector<std::string>& collection);

// (queries, the largest k of the rule). Throws UsageError when the collection has fewer.
std::vector<Neighbour> task_neighbours(const NeighbourTask& task, const KnnRule& rule);

// For each level, for each k.
std::vector<std::vector<KnnScore>> knn_at_levels(const NeighbourTask& task,
                                                 const std::vector<MatchedLevel>& levels,
                                                 const KnnRule& rule);

struct RetrievalOptions {
    std::vector<std::size_t> recall_at = {1, 5, 10};
    // The level of equation 2.5's coarse classes. The query's class is predicted by the rule with
    // its largest k, or by the caller, who gives the probabilities; the oracle knows it.
    const MatchedLevel* coarse = nullptr;
    std::span<const double> coarse_probabilities = {};  // (queries, coarse classes), or none
    KnnRule rule = {};
};

struct LevelRetrieval {
    Retrieval plain;
    std::optional<Retrieval> conditional;
    std::optional<Retrieval> oracle;
};

std::vector<LevelRetrieval> retrieval_at_levels(const NeighbourTask& task,
                                                const std::vector<MatchedLevel>& levels,
                                                const RetrievalOptions& options);

}  // namespace cait
