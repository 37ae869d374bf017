// Who is a neighbour of whom before anything is drawn: distances of the vectors, and for each the
// width of a Gaussian that gives it the asked number of neighbours.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/tsne.h"
#include "kernels/thread_pool.h"

namespace cait {

namespace {

float squared_distance(std::span<const float> a, std::span<const float> b) {
    constexpr std::size_t kLanes = 16;
    float sums[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= a.size(); i += kLanes)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float apart = a[i + lane] - b[i + lane];
            sums[lane] += apart * apart;
        }
    for (; i < a.size(); ++i) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
    return std::accumulate(sums, sums + kLanes, 0.0F);
}

// Turns row `self` of squared distances into probabilities of the given entropy: exp(-beta d), with
// beta found by Newton's method, or by bisection where that would leave the known bounds. The
// tolerance is scikit-learn's.
void to_probabilities(std::span<float> row, std::size_t self, double entropy,
                      std::vector<double>& work) {
    constexpr int kMostSteps = 100;
    constexpr double kTolerance = 1e-5;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < row.size(); ++j)
        if (j != self) least = std::min(least, double(row[j]));
    double beta = 1, low = 0, high = std::numeric_limits<double>::infinity(), sum = 0;
    for (int step = 0; step < kMostSteps; ++step) {
        double mean = 0, square = 0;  // of the distances, from the nearest neighbour's on
        sum = 0;
        for (std::size_t j = 0; j < row.size(); ++j) {
            const double apart = double(row[j]) - least;
            const double weight = j == self ? 0.0 : std::exp(-beta * apart);
            work[j] = weight;
            sum += weight;
            mean += weight * apart;
            square += weight * apart * apart;
        }
        mean /= sum;
        const double excess = std::log(sum) + beta * mean - entropy;
        if (std::fabs(excess) <= kTolerance) break;
        (excess > 0 ? low : high) = beta;
        // The entropy falls by beta times the variance of the distances.
        const double next = beta + excess / (beta * (square / sum - mean * mean));
        if (next > low && next < high && next < 10 * beta && next > beta / 10)
            beta = next;
        else if (std::isinf(high))
            beta *= 2;
        else
            beta = (low + high) / 2;
    }
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = float(work[j] / sum);
}

void for_rows(std::size_t rows, int threads, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    kernels::run_workers(std::max(1, threads), [&](int) {
        for (std::size_t row = next++; row < rows; row = next++) work(row);
    });
}

}  // namespace

std::vector<float> tsne_affinities(const Vectors& vectors, double perplexity, int threads) {
    const std::size_t rows = vectors.rows;
    std::vector<float> matrix(rows * rows, 0.0F);
    kernels::ThreadPool pool(threads);
    const kernels::UsePool use(pool);
    for_rows(rows, threads, [&](std::size_t i) {
        for (std::size_t j = 0; j < i; ++j)
            matrix[i * rows + j] = matrix[j * rows + i] =
                squared_distance(vectors.row(i), vectors.row(j));
    });
    for_rows(rows, threads, [&](std::size_t i) {
        std::vector<double> work(rows);
        to_probabilities(std::span(matrix).subspan(i * rows, rows), i, std::log(perplexity), work);
    });
    // Each row adds up to 1, so all of them to their number.
    for_rows(rows, threads, [&](std::size_t i) {
        for (std::size_t j = 0; j < i; ++j) {
            const double both = double(matrix[i * rows + j]) + double(matrix[j * rows + i]);
            matrix[i * rows + j] = matrix[j * rows + i] = float(both / (2 * double(rows)));
        }
    });
    return matrix;
}

}  // namespace cait
