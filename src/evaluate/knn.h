// Classification by the nearest neighbours of an image: the weighted vote of Wu et al. 2018 and of
// Grafit's equation 2.6. Who the neighbours are is found elsewhere (evaluate/nearest.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cait {

struct Neighbour {
    std::uint32_t row = 0;  // of the collection
    double similarity = 0;  // cosine
    bool operator==(const Neighbour&) const = default;
};

// How neighbours vote: each for its class, with weight exp(similarity / temperature).
struct KnnRule {
    double temperature = 0.05;
    std::vector<std::size_t> k = {10, 15, 20, 25, 30};

    static KnnRule grafit() { return {}; }
    static KnnRule dino() { return {0.07, {10, 20, 100, 200}}; }
};

struct KnnScore {
    std::size_t k = 0;
    double top1 = 0;
};

// The votes for each class, which add up to 1, of neighbours that are sorted by falling similarity.
std::vector<double> knn_votes(std::span<const Neighbour> neighbours,
                              std::span<const std::int64_t> labels, std::size_t classes,
                              double temperature);

// The class with most votes; of equals the first.
std::int64_t knn_answer(std::span<const Neighbour> neighbours, std::span<const std::int64_t> labels,
                        double temperature);

// How often the answer is the query's label, for every k of the rule. `neighbours`: (queries,
// width), of which the first k of each query count; width is at least the largest k.
std::vector<KnnScore> knn_scores(std::span<const Neighbour> neighbours, std::size_t width,
                                 std::span<const std::int64_t> labels,
                                 std::span<const std::int64_t> query_labels, const KnnRule& rule);

}  // namespace cait
