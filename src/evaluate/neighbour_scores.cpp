#include "evaluate/neighbour_scores.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "evaluate/nearest.h"
#include "evaluate/ranking.h"

namespace cait {

namespace {

// log(p / (1 - p)). Votes of k neighbours are often none or all, softmaxes round to it.
float log_odds(double probability) {
    constexpr double kLeast = 1e-6;
    const double p = std::clamp(probability, kLeast, 1 - kLeast);
    return float(std::log(p / (1 - p)));
}

// Of the predicted probability of each coarse class, (queries, classes).
std::vector<float> predicted_odds(const NeighbourTask& task, const RetrievalOptions& options) {
    const MatchedLevel& coarse = *options.coarse;
    std::vector<float> odds;
    odds.reserve(task.queries.rows * coarse.classes);
    for (const double p : options.coarse_probabilities) odds.push_back(log_odds(p));
    if (!odds.empty()) return odds;
    const std::size_t k = std::ranges::max(options.rule.k);
    const std::vector<Neighbour> neighbours = task_neighbours(task, options.rule);
    for (std::size_t q = 0; q < task.queries.rows; ++q)
        for (const double vote :
             knn_votes(std::span(neighbours).subspan(q * k, k), coarse.collection, coarse.classes,
                       options.rule.temperature))
            odds.push_back(log_odds(vote));
    return odds;
}

// The query's own coarse class before all others: cosines reach from -1 to 1.
std::vector<float> known_class(const MatchedLevel& coarse) {
    constexpr float kBefore = 3;
    std::vector<float> offsets(coarse.queries.size() * coarse.classes, 0.0F);
    for (std::size_t q = 0; q < coarse.queries.size(); ++q)
        offsets[q * coarse.classes + std::size_t(coarse.queries[q])] = kBefore;
    return offsets;
}

}  // namespace

MatchedLevel match_level(const LabelLevel& queries, const LabelLevel& collection) {
    std::unordered_map<std::string, std::int64_t> numbers;
    const auto map = [&](const LabelLevel& side) {
        std::vector<std::int64_t> map_of_class;
        for (const std::string& name : side.classes.names)
            map_of_class.push_back(
                numbers.emplace(name, std::int64_t(numbers.size())).first->second);
        std::vector<std::int64_t> labels;
        for (const std::int64_t label : side.labels)
            labels.push_back(map_of_class[std::size_t(label)]);
        return labels;
    };
    MatchedLevel level{queries.name, 0, {}, {}};
    level.collection = map(collection);
    level.queries = map(queries);
    level.classes = numbers.size();
    return level;
}

std::vector<std::int64_t> same_images(const std::vector<std::string>& queries,
                                      const std::vector<std::string>& collection) {
    std::unordered_map<std::string_view, std::int64_t> rows;
    for (std::size_t row = 0; row < collection.size(); ++row)
        rows.emplace(collection[row], std::int64_t(row));
    std::vector<std::int64_t> same;
    bool any = false;
    for (const std::string& name : queries) {
        const auto row = rows.find(name);
        any = any || row != rows.end();
        same.push_back(row == rows.end() ? -1 : row->second);
    }
    if (!any) same.clear();
    return same;
}

std::vector<Neighbour> task_neighbours(const NeighbourTask& task, const KnnRule& rule) {
    return nearest(task.queries, task.collection,
                   {.k = std::ranges::max(rule.k), .threads = task.threads, .skip = task.same});
}

std::vector<std::vector<KnnScore>> knn_at_levels(const NeighbourTask& task,
                                                 const std::vector<MatchedLevel>& levels,
                                                 const KnnRule& rule) {
    const std::vector<Neighbour> neighbours = task_neighbours(task, rule);
    std::vector<std::vector<KnnScore>> scores;
    for (const MatchedLevel& level : levels)
        scores.push_back(knn_scores(neighbours, std::ranges::max(rule.k), level.collection,
                                    level.queries, rule));
    return scores;
}

std::vector<LevelRetrieval> retrieval_at_levels(const NeighbourTask& task,
                                                const std::vector<MatchedLevel>& levels,
                                                const RetrievalOptions& options) {
    std::vector<Ranking> rankings;
    std::vector<float> odds, oracle;
    if (options.coarse != nullptr) {
        odds = predicted_odds(task, options);
        oracle = known_class(*options.coarse);
    }
    for (const MatchedLevel& level : levels) {
        rankings.push_back({level.queries, level.collection});
        if (options.coarse == nullptr) continue;
        for (const std::vector<float>* offsets : {&odds, &oracle})
            rankings.push_back({level.queries, level.collection, *offsets, options.coarse->classes,
                                options.coarse->collection});
    }
    std::vector<std::vector<QueryRetrieval>> found(rankings.size(),
                                                   std::vector<QueryRetrieval>(task.queries.rows));
    rank_relevant(task.queries, task.collection, rankings,
                  {.threads = task.threads, .skip = task.same},
                  [&](std::size_t ranking, std::size_t query, auto places) {
                      found[ranking][query] = score_ranking(places);
                  });
    std::vector<LevelRetrieval> results;
    for (std::size_t i = 0; i < found.size();) {
        LevelRetrieval& result = results.emplace_back();
        result.plain = mean_retrieval(found[i++], options.recall_at);
        if (options.coarse == nullptr) continue;
        result.conditional = mean_retrieval(found[i++], options.recall_at);
        result.oracle = mean_retrieval(found[i++], options.recall_at);
    }
    return results;
}

}  // namespace cait
