// Ranks a whole collection for each query and says at which places the relevant rows stand.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

// One ranking of the same vectors: which rows are relevant (those of the query's label), and what
// is added to the similarities, if anything.
struct Ranking {
    std::span<const std::int64_t> query_labels;  // (queries)
    std::span<const std::int64_t> labels;        // (collection)
    // Score of row j for query q: similarity + offsets[q * groups + group_of[j]], in float32.
    std::span<const float> offsets = {};  // (queries, groups)
    std::size_t groups = 0;
    std::span<const std::int64_t> group_of = {};  // (collection)
};

struct RankingOptions {
    int threads = default_threads();
    std::span<const std::int64_t> skip = {};  // as in NearestOptions
};

// Calls visit for every query and ranking with the places, from 1 and rising, of the relevant rows
// among all rows: by falling score, of equals the lower row first. From several threads at a time.
using VisitRanking = std::function<void(std::size_t ranking, std::size_t query,
                                        std::span<const std::uint32_t> places)>;
void rank_relevant(const Vectors& queries, const Vectors& collection,
                   std::span<const Ranking> rankings, const RankingOptions& options,
                   const VisitRanking& visit);

}  // namespace cait
