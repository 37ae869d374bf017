// Queries and what was found for them as one picture: figures 2.6 to 2.9 of Touvron's thesis.
#pragma once

#include <string>
#include <vector>

#include "evaluate/embedded_set.h"
#include "evaluate/knn.h"
#include "image/image.h"

namespace cait {

using FoundNeighbours = std::vector<std::vector<Neighbour>>;  // of each query

struct SearchSheet {
    // The data set that the queries come from, or nothing where they are rows of the index.
    DatasetPtr query_images{};
    std::vector<std::size_t> query_rows{};  // then these
    std::size_t k = 10;                     // answers in a row
    std::int64_t side = 160;                // of a picture, in pixels
};

// The finest level at which both have the same class; empty: none, or one of them has no labels.
std::string agreeing_level(const EmbeddedSet& queries, std::size_t query, const EmbeddedSet& known,
                           std::size_t row);

// A row for each query, its answers framed by the finest level that agrees.
Image draw_search_sheet(const SearchSheet& sheet, const EmbeddedSet& queries,
                        const EmbeddedSet& known, const FoundNeighbours& answers);

}  // namespace cait
