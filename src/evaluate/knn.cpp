#include "evaluate/knn.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cait {

// Each class adds up its neighbours in the order of their similarity, so that two classes with
// equal neighbours have equal sums.
std::vector<double> knn_votes(std::span<const Neighbour> neighbours,
                              std::span<const std::int64_t> labels, std::size_t classes,
                              double temperature) {
    std::vector<double> votes(classes, 0.0);
    for (const Neighbour& one : neighbours)
        votes[std::size_t(labels[one.row])] += std::exp(one.similarity / temperature);
    double total = 0;
    for (const double vote : votes) total += vote;
    for (double& vote : votes) vote /= total;
    return votes;
}

std::int64_t knn_answer(std::span<const Neighbour> neighbours, std::span<const std::int64_t> labels,
                        double temperature) {
    // Only the neighbours' classes can win: there may be thousands of others.
    std::vector<std::pair<std::int64_t, double>> votes;
    for (const Neighbour& one : neighbours) {
        const std::int64_t label = labels[one.row];
        auto vote = std::ranges::find(votes, label, &std::pair<std::int64_t, double>::first);
        if (vote == votes.end()) vote = votes.insert(vote, {label, 0.0});
        vote->second += std::exp(one.similarity / temperature);
    }
    return std::ranges::min(votes,
                            [](const auto& a, const auto& b) {
                                return a.second != b.second ? a.second > b.second
                                                            : a.first < b.first;
                            })
        .first;
}

std::vector<KnnScore> knn_scores(std::span<const Neighbour> neighbours, std::size_t width,
                                 std::span<const std::int64_t> labels,
                                 std::span<const std::int64_t> query_labels, const KnnRule& rule) {
    std::vector<KnnScore> scores;
    for (const std::size_t k : rule.k) {
        std::size_t right = 0;
        for (std::size_t query = 0; query < query_labels.size(); ++query)
            if (knn_answer(neighbours.subspan(query * width, k), labels, rule.temperature) ==
                query_labels[query])
                ++right;
        scores.push_back({k, double(right) / double(query_labels.size())});
    }
    return scores;
}

}  // namespace cait
