// Queries and what was found for them as one picture: figures 2.6 to 2.9 of Touvron's thesis.
#pragma once

#include <string>
#include <vector>

#include "evaluate/knn.h"
#include "search.h"

namespace cait::app {

using Answers = std::vector<std::vector<Neighbour>>;  // of each query

// The finest level at which both have the same class; empty: none, or one of them has no labels.
std::string agreeing_level(const EmbeddedSet& queries, std::size_t query, const EmbeddedSet& known,
                           std::size_t row);

// A row for each query. `query_images`: the data set that the queries come from, or nothing where
// they are rows of the index.
void draw_sheet(const SearchArguments& arguments, const EmbeddedSet& queries,
                const DatasetPtr& query_images, const EmbeddedSet& known, const Answers& answers);

}  // namespace cait::app
