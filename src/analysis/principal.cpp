#include "analysis/principal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/symmetric_eigen.h"
#include "cait/error.h"
#include "kernels/thread_pool.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr std::size_t kTogether = 8;           // rows whose products are added in one go
constexpr std::size_t kChunk = 8 * kTogether;  // rows that are copied at a time

// The mean vector; throws where a value is not finite.
std::vector<double> mean_of(const Vectors& vectors, const std::string& source) {
    std::vector<double> mean(vectors.columns, 0.0);
    for (std::size_t row = 0; row < vectors.rows; ++row)
        for (std::size_t column = 0; column < vectors.columns; ++column) {
            const float value = vectors.row(row)[column];
            if (!std::isfinite(value))
                throw Error(fmt::format("{}: vector {}: expected finite values", source, row));
            mean[column] += value;
        }
    for (double& one : mean) one /= double(vectors.rows);
    return mean;
}

// kChunk rows (of what there is: vectors or their transpose) with the mean taken away.
class CentredRows {
public:
    CentredRows(const Vectors& vectors, const std::vector<double>& mean, bool transposed)
        : vectors_(vectors), mean_(mean), transposed_(transposed) {}

    std::size_t rows() const { return transposed_ ? vectors_.columns : vectors_.rows; }
    std::size_t columns() const { return transposed_ ? vectors_.rows : vectors_.columns; }

    // (kChunk, columns); rows beyond the last are zeros.
    void copy(std::size_t first, std::vector<double>& out) const {
        for (std::size_t i = 0; i < kChunk; ++i)
            for (std::size_t j = 0; j < columns(); ++j)
                out[i * columns() + j] = first + i < rows() ? at(first + i, j) : 0.0;
    }

private:
    double at(std::size_t row, std::size_t column) const {
        if (transposed_) std::swap(row, column);
        return double(vectors_.values[row * vectors_.columns + column]) - mean_[column];
    }

    const Vectors& vectors_;
    const std::vector<double>& mean_;
    bool transposed_;
};

// out[j] += Σ_r a_r[i] a_r[j] for j <= i.
void add_products(const double* rows, std::size_t columns, std::size_t i, double* out) {
    double factor[kTogether];
    for (std::size_t r = 0; r < kTogether; ++r) factor[r] = rows[r * columns + i];
    for (std::size_t j = 0; j <= i; ++j) {
        double sum = out[j];
        for (std::size_t r = 0; r < kTogether; ++r) sum += factor[r] * rows[r * columns + j];
        out[j] = sum;
    }
}

// A^T A of the centred rows, (columns, columns). Each entry is summed in the order of the rows,
// whoever computes it.
std::vector<double> sums_of_products(const CentredRows& from, int threads) {
    const std::size_t size = from.columns();
    std::vector<double> matrix(size * size, 0.0), rows(kChunk * size);
    kernels::ThreadPool pool(threads);
    const kernels::UsePool use(pool);
    const int workers = std::max(1, threads);
    for (std::size_t first = 0; first < from.rows(); first += kChunk) {
        from.copy(first, rows);
        kernels::run_workers(workers, [&](int worker) {
            for (auto i = std::size_t(worker); i < size; i += std::size_t(workers))
                for (std::size_t row = 0; row < kChunk; row += kTogether)
                    add_products(rows.data() + row * size, size, i, matrix.data() + i * size);
        });
    }
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = i + 1; j < size; ++j) matrix[i * size + j] = matrix[j * size + i];
    return matrix;
}

// A direction is as good as its opposite: the vector that lies furthest out lies on the positive
// side.
void point_up(std::vector<double>& scores, std::size_t columns, std::size_t column) {
    double furthest = 0;
    for (std::size_t i = column; i < scores.size(); i += columns)
        if (std::fabs(scores[i]) > std::fabs(furthest)) furthest = scores[i];
    if (furthest < 0)
        for (std::size_t i = column; i < scores.size(); i += columns) scores[i] = -scores[i];
}

void check(const Vectors& vectors, const std::string& source) {
    if (vectors.rows < 2)
        throw Error(fmt::format("{}: expected at least 2 images for principal components, found {}",
                                source, vectors.rows));
    if (std::min(vectors.rows, vectors.columns) > kMostComponents)
        throw Error(fmt::format("{}: expected vectors of at most {} numbers, found {} of {}",
                                source, kMostComponents, vectors.rows, vectors.columns));
}

}  // namespace

Principal principal_components(const Vectors& vectors, const std::string& source,
                               const PrincipalOptions& options) {
    check(vectors, source);
    const std::vector<double> mean = mean_of(vectors, source);
    // Of fewer images than numbers, the inner products of the images have the same eigenvalues.
    const bool by_rows = vectors.rows < vectors.columns;
    const CentredRows rows(vectors, mean, by_rows);
    const std::size_t size = rows.columns();
    const MemoryShare share = MemoryBudget::of_process().keep(4 * size * size * sizeof(double),
                                                              "principal components of " + source);
    const EigenPairs found =
        symmetric_eigen(sums_of_products(rows, options.threads), size, options.scores);
    Principal result;
    for (const double value : found.values)
        result.variances.push_back(std::max(0.0, value) / double(vectors.rows - 1));
    const std::size_t wanted = std::min(options.scores, size);
    result.scores.assign(vectors.rows * options.scores, 0.0);
    for (std::size_t row = 0; row < vectors.rows; ++row)
        for (std::size_t k = 0; k < wanted; ++k) {
            const double* direction = found.vectors.data() + k * size;
            double& score = result.scores[row * options.scores + k];
            if (by_rows) {
                score = direction[row] * std::sqrt(std::max(0.0, found.values[k]));
                continue;
            }
            for (std::size_t j = 0; j < size; ++j)
                score += (double(vectors.row(row)[j]) - mean[j]) * direction[j];
        }
    for (std::size_t k = 0; k < wanted; ++k) point_up(result.scores, options.scores, k);
    return result;
}

std::vector<double> cumulative_energy(const std::vector<double>& variances) {
    double all = 0;
    for (const double one : variances) all += one;
    std::vector<double> energy;
    if (!(all > 0)) return energy;
    double sum = 0;
    for (const double one : variances) energy.push_back((sum += one) / all);
    return energy;
}

std::size_t components_for(const std::vector<double>& energy, double fraction) {
    constexpr double kSlack = 1e-12;  // sums are rounded
    const auto found =
        std::ranges::find_if(energy, [&](double value) { return value >= fraction - kSlack; });
    return std::min(energy.size(), std::size_t(found - energy.begin()) + 1);
}

}  // namespace cait
