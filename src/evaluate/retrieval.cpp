#include "evaluate/retrieval.h"

namespace cait {

QueryRetrieval score_ranking(std::span<const std::uint32_t> places) {
    QueryRetrieval result;
    if (places.empty()) return result;
    const double relevant = double(places.size());
    double within = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const double precision = double(i + 1) / double(places[i]);
        result.average_precision += precision;
        if (places[i] > places.size()) continue;
        within += 1;
        result.map_at_r += precision;
    }
    result.average_precision /= relevant;
    result.r_precision = within / relevant;
    result.map_at_r /= relevant;
    result.first = places.front();
    return result;
}

Retrieval mean_retrieval(std::span<const QueryRetrieval> queries,
                         std::span<const std::size_t> recall_at) {
    Retrieval mean;
    for (const std::size_t k : recall_at) mean.recall_at.emplace_back(k, 0.0);
    for (const QueryRetrieval& one : queries) {
        if (one.first == 0) {
            ++mean.left_out;
            continue;
        }
        ++mean.queries;
        mean.map += one.average_precision;
        mean.r_precision += one.r_precision;
        mean.map_at_r += one.map_at_r;
        for (auto& [k, found] : mean.recall_at) found += one.first <= k ? 1 : 0;
    }
    if (mean.queries == 0) return mean;
    const double count = double(mean.queries);
    for (double* value : {&mean.map, &mean.r_precision, &mean.map_at_r}) *value /= count;
    for (auto& [k, found] : mean.recall_at) found /= count;
    return mean;
}

}  // namespace cait
