// How well a ranking puts what belongs together first. One query's ranking comes in as the places
// (from 1) of the relevant items; R is their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cait {

struct QueryRetrieval {
    // Mean over the relevant items of the precision at their places.
    double average_precision = 0;
    double r_precision = 0;   // fraction of the first R places that are relevant
    double map_at_r = 0;      // as average_precision, of the first R places alone, divided by R
    std::uint32_t first = 0;  // place of the first relevant item; 0: none is relevant
};

// `places` rise. None: everything is 0.
QueryRetrieval score_ranking(std::span<const std::uint32_t> places);

struct Retrieval {
    double map = 0;
    double r_precision = 0;
    double map_at_r = 0;
    // Fraction of the queries that have a relevant item among the first k.
    std::vector<std::pair<std::size_t, double>> recall_at;
    std::size_t queries = 0;   // that count
    std::size_t left_out = 0;  // nothing in the collection is relevant to them
};

// Means over the queries that something is relevant to.
Retrieval mean_retrieval(std::span<const QueryRetrieval> queries,
                         std::span<const std::size_t> recall_at);

}  // namespace cait
