#include "evaluate/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "cait/error.h"
#include "evaluate/nearest.h"

namespace cait {

namespace {

// Different rows, drawn one after the other.
Vectors first_centres(const Vectors& vectors, const KMeansOptions& options) {
    std::vector<std::size_t> rows(vectors.rows);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    RandomStream random(options.seed, "k-means");
    Vectors centres{.rows = options.clusters, .columns = vectors.columns, .values = {}};
    for (std::size_t c = 0; c < options.clusters; ++c) {
        const std::uint64_t draw = std::uint64_t(random.bits()) << 32 | random.bits();
        std::swap(rows[c], rows[c + draw % (rows.size() - c)]);
        const auto row = vectors.row(rows[c]);
        centres.values.insert(centres.values.end(), row.begin(), row.end());
    }
    return centres;
}

// Sums in the order of the rows, so that they are the same everywhere.
void move_centres(const Vectors& vectors, const std::vector<std::int64_t>& of_row,
                  Vectors& centres) {
    std::vector<double> sums(centres.values.size());
    for (std::size_t r = 0; r < vectors.rows; ++r) {
        double* sum = sums.data() + std::size_t(of_row[r]) * vectors.columns;
        const auto row = vectors.row(r);
        for (std::size_t i = 0; i < row.size(); ++i) sum[i] += double(row[i]);
    }
    for (std::size_t c = 0; c < centres.rows; ++c) {
        const double* sum = sums.data() + c * centres.columns;
        double length = 0;
        for (std::size_t i = 0; i < centres.columns; ++i) length += sum[i] * sum[i];
        length = std::sqrt(length);
        if (length == 0) continue;  // opposite vectors: the centre stays
        for (std::size_t i = 0; i < centres.columns; ++i)
            centres.values[c * centres.columns + i] = float(sum[i] / length);
    }
}

// Each empty cluster gets the vector that lies farthest from its centre, of those whose cluster
// has others.
void fill_empty(std::vector<Neighbour>& nearest_centre, std::size_t clusters) {
    std::vector<std::size_t> counts(clusters);
    for (const Neighbour& found : nearest_centre) ++counts[found.row];
    std::vector<std::size_t> order(nearest_centre.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t r) { return nearest_centre[r].similarity; });
    std::size_t next = 0;
    for (std::size_t c = 0; c < clusters; ++c) {
        if (counts[c] > 0) continue;
        while (counts[nearest_centre[order[next]].row] < 2) ++next;
        Neighbour& moved = nearest_centre[order[next]];
        --counts[moved.row];
        moved = {std::uint32_t(c), 1};
        counts[c] = 1;
    }
}

}  // namespace

Clusters k_means(const Vectors& vectors, const KMeansOptions& options) {
    if (options.clusters == 0 || options.clusters > vectors.rows)
        throw UsageError(
            fmt::format("clusters: expected 1 to {}, the number of images, "
                        "found {}",
                        vectors.rows, options.clusters));
    Vectors centres = first_centres(vectors, options);
    Clusters result;
    result.of_row.assign(vectors.rows, -1);
    for (result.rounds = 0; result.rounds < std::max<std::size_t>(1, options.rounds);) {
        ++result.rounds;
        std::vector<Neighbour> found =
            nearest(vectors, centres, {.k = 1, .threads = options.threads});
        fill_empty(found, options.clusters);
        bool moved = false;
        for (std::size_t r = 0; r < found.size(); ++r) {
            moved = moved || result.of_row[r] != std::int64_t(found[r].row);
            result.of_row[r] = std::int64_t(found[r].row);
        }
        if (!moved) break;
        move_centres(vectors, result.of_row, centres);
    }
    return result;
}

}  // namespace cait
