// Groups of vectors that point in similar directions, by Lloyd's algorithm.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/vectors.h"

namespace cait {

struct KMeansOptions {
    std::size_t clusters = 1;
    std::size_t rounds = 50;  // at most; it ends when no vector changes its cluster
    std::uint64_t seed = 0;   // of the vectors that clusters start from
    int threads = 1;
};

struct Clusters {
    std::vector<std::int64_t> of_row;  // the cluster of each vector; none is empty
    std::size_t rounds = 0;            // that it took
};

// `vectors` are of unit length, and so are the centres. The result depends on neither threads nor
// processor. Throws UsageError when there are fewer vectors than clusters.
Clusters k_means(const Vectors& vectors, const KMeansOptions& options);

}  // namespace cait
