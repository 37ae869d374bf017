// The nearest vectors of a collection, exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/knn.h"
#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

class PackedCollection;  // evaluate/similarity.h

struct NearestOptions {
    std::size_t k = 10;
    int threads = default_threads();
    // For each query the row of the collection that it must not find (itself), or -1; empty: none.
    std::span<const std::int64_t> skip = {};
};

// (queries, k): the rows with the largest inner products, by falling similarity, of equals the
// lower row first. Similarities are sums in float64 of the float32 vectors, so that neither the
// processor nor the number of threads changes them. Throws UsageError when there are fewer than k
// rows to find, Error as check_sizes() does and where numbers are too large for their products.
std::vector<Neighbour> nearest(const Vectors& queries, const Vectors& collection,
                               const NearestOptions& options);
// The same for callers that ask often: `packed` is the collection, packed once.
std::vector<Neighbour> nearest(const Vectors& queries, const Vectors& collection,
                               const PackedCollection& packed, const NearestOptions& options);

}  // namespace cait
