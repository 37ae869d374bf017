#include "analysis/linear_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cait/error.h"
#include "kernels/dispatch.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"

namespace cait {

namespace {

using kernels::Format;
using kernels::Index;

constexpr std::size_t kRows = 384;          // of a block, whose logits are computed together
constexpr std::size_t kMostSums = 32;       // gradients that are summed apart, by any thread
constexpr std::size_t kMostColumns = 4096;  // whose covariance is taken apart, in seconds

Vectors scaled_vectors(const Vectors& vectors, const std::string& source) {
    if (vectors.rows < 2)
        throw Error(fmt::format("{}: expected at least 2 images for a linear classifier, found {}",
                                source, vectors.rows));
    std::vector<double> mean(vectors.columns, 0.0);
    for (std::size_t i = 0; i < vectors.values.size(); ++i) {
        if (!std::isfinite(vectors.values[i]))
            throw Error(
                fmt::format("{}: vector {}: expected finite values", source, i / vectors.columns));
        mean[i % vectors.columns] += vectors.values[i] / double(vectors.rows);
    }
    double squares = 0;
    for (std::size_t i = 0; i < vectors.values.size(); ++i) {
        const double apart = vectors.values[i] - mean[i % vectors.columns];
        squares += apart * apart;
    }
    const double size = std::sqrt(squares / double(vectors.values.size()));
    if (!(size > 0))
        throw Error(fmt::format("{}: all {} images have the same vector: nothing tells them apart",
                                source, vectors.rows));
    Vectors result = vectors;
    for (std::size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = float((vectors.values[i] - mean[i % vectors.columns]) / size);
    return result;
}

// Turns logits into probabilities less 1 for the label; returns -log of the label's.
double to_slopes(std::span<float> row, std::size_t label) {
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    for (const float value : row) sum += std::exp(double(value) - most);
    const double loss = std::log(sum) + most - double(row[label]);
    for (float& value : row) value = float(std::exp(double(value) - most) / sum);
    row[label] -= 1;
    return loss;
}

}  // namespace

// The vectors as right-hand sides of the gradient's products, a block of rows each.
struct LinearProbe::Packed {
    std::vector<kernels::PackedMatrix> blocks;
    kernels::ThreadPool pool;

    Packed(const Vectors& vectors, int threads) : pool(std::max(1, threads)) {
        for (std::size_t first = 0; first < vectors.rows; first += kRows) {
            kernels::PackSource source;
            source.data = vectors.row(first).data();
            source.rows = Index(std::min(kRows, vectors.rows - first));
            source.columns = Index(vectors.columns);
            source.row_step = Index(vectors.columns);
            blocks.emplace_back().pack(source, Format::f32);
        }
    }

    std::size_t sums() const { return std::min(kMostSums, blocks.size()); }

    // Calls work(sum, first block, end) for parts of the blocks that are always the same.
    void for_parts(const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
        std::atomic<std::size_t> next = 0;
        pool.run(pool.threads(), [&](int) {
            for (std::size_t sum = next++; sum < sums(); sum = next++)
                work(sum, sum * blocks.size() / sums(), (sum + 1) * blocks.size() / sums());
        });
    }
};

namespace {

// A block's logits from packed weights.
class Logits {
public:
    Logits(std::span<const double> x, std::size_t classes, std::size_t columns)
        : classes_(classes),
          columns_(columns),
          weights_(x.begin(), x.begin() + std::ptrdiff_t(classes * columns)),
          biases_(x.begin() + std::ptrdiff_t(classes * columns), x.end()) {
        packed_.pack(kernels::forward_source(weights_.data(), Index(classes), Index(columns)),
                     Format::f32);
    }

    void compute(const float* vectors, std::size_t rows, float* out, std::byte* scratch) const {
        kernels::products(Format::f32)
            .multiply({.m = Index(rows),
                       .n = Index(classes_),
                       .k = Index(columns_),
                       .a = {vectors, Format::f32, Index(columns_), 1},
                       .b = packed_.view(),
                       .c = out,
                       .c_ld = Index(classes_),
                       .scratch = scratch});
        for (std::size_t i = 0; i < rows * classes_; ++i) out[i] += biases_[i % classes_];
    }

private:
    std::size_t classes_, columns_;
    std::vector<float> weights_, biases_;
    kernels::PackedMatrix packed_;
};

kernels::Buffer scratch_for(std::size_t columns) {
    return kernels::Buffer{kernels::product_scratch(Index(std::max(columns, kRows)))};
}

}  // namespace

LinearProbe::LinearProbe(const Vectors& vectors, const std::string& source, int threads)
    : scaled_(scaled_vectors(vectors, source)),
      threads_(threads),
      packed_(std::make_unique<Packed>(scaled_, threads_)) {
    // At its start the loss is curved as covariance / classes + 1 / rows. The number of classes
    // counts little: with 5 or 160 in place of 40 a fit took as many steps.
    constexpr double kClasses = 40;
    if (scaled_.columns <= kMostColumns)
        spread_.emplace(covariance(), scaled_.columns, kClasses / double(rows()));
}

LinearProbe::~LinearProbe() = default;

std::vector<double> LinearProbe::covariance() const {
    const std::size_t columns = scaled_.columns;
    std::vector<double> sums(columns * columns, 0.0);
    std::vector<float> product(sums.size());
    kernels::Buffer scratch = scratch_for(columns);
    for (std::size_t block = 0; block < packed_->blocks.size(); ++block) {
        const std::size_t first = block * kRows;
        kernels::products(Format::f32)
            .multiply({.m = Index(columns),
                       .n = Index(columns),
                       .k = Index(std::min(kRows, rows_left(first))),
                       .a = {scaled_.row(first).data(), Format::f32, 1, Index(columns)},
                       .b = packed_->blocks[block].view(),
                       .c = product.data(),
                       .c_ld = Index(columns),
                       .scratch = scratch.data()});
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += product[i] / double(rows());
    }
    return sums;
}

double LinearProbe::loss(std::span<const std::int64_t> labels, std::size_t classes,
                         std::span<const double> x, std::span<double> gradient) const {
    const std::size_t columns = scaled_.columns, sums = packed_->sums();
    const Logits logits(x, classes, columns);
    std::vector<double> losses(sums, 0.0);
    std::vector<std::vector<double>> slopes(sums);
    packed_->for_parts([&](std::size_t sum, std::size_t block, std::size_t end) {
        std::vector<float> values(kRows * classes), product(classes * columns);
        kernels::Buffer scratch = scratch_for(columns);
        slopes[sum].assign(x.size(), 0.0);
        for (; block < end; ++block) {
            const std::size_t first = block * kRows, rows = std::min(kRows, rows_left(first));
            logits.compute(scaled_.row(first).data(), rows, values.data(), scratch.data());
            for (std::size_t row = 0; row < rows; ++row) {
                const std::span<float> of_row(values.data() + row * classes, classes);
                losses[sum] += to_slopes(of_row, std::size_t(labels[first + row]));
                for (std::size_t c = 0; c < classes; ++c)
                    slopes[sum][classes * columns + c] += of_row[c];
            }
            kernels::products(Format::f32)
                .multiply({.m = Index(classes),
                           .n = Index(columns),
                           .k = Index(rows),
                           .a = {values.data(), Format::f32, 1, Index(classes)},
                           .b = packed_->blocks[block].view(),
                           .c = product.data(),
                           .c_ld = Index(columns),
                           .scratch = scratch.data()});
            for (std::size_t i = 0; i < product.size(); ++i) slopes[sum][i] += product[i];
        }
    });
    const auto count = double(rows());
    double loss = 0;
    for (const double one : losses) loss += one / count;
    for (std::size_t i = 0; i < x.size(); ++i) {
        double slope = 0;
        for (const std::vector<double>& one : slopes) slope += one[i];
        gradient[i] = slope / count;
        if (i >= classes * columns) continue;  // biases are free
        gradient[i] += x[i] / count;
        loss += x[i] * x[i] / (2 * count);
    }
    return loss;
}

LinearClassifier LinearProbe::fit(std::span<const std::int64_t> labels, std::size_t classes) const {
    const std::size_t columns = scaled_.columns;
    LbfgsOptions options;
    if (spread_)
        options.precondition = [&](std::span<double> slopes) {
            spread_->apply(slopes.first(classes * columns));
            for (double& slope : slopes) slope *= double(classes);
        };
    LbfgsResult found =
        minimise([&](std::span<const double> x,
                     std::span<double> gradient) { return loss(labels, classes, x, gradient); },
                 std::vector<double>(classes * (columns + 1), 0.0), options);
    const auto biases = found.x.begin() + std::ptrdiff_t(classes * columns);
    return {classes,
            columns,
            {found.x.begin(), biases},
            {biases, found.x.end()},
            found.value,
            found.iterations,
            found.converged};
}

std::vector<float> LinearProbe::logits(const LinearClassifier& classifier) const {
    std::vector<double> x = classifier.weights;
    x.insert(x.end(), classifier.biases.begin(), classifier.biases.end());
    const Logits logits(x, classifier.classes, scaled_.columns);
    std::vector<float> result(rows() * classifier.classes);
    packed_->for_parts([&](std::size_t, std::size_t block, std::size_t end) {
        kernels::Buffer scratch = scratch_for(scaled_.columns);
        for (; block < end; ++block) {
            const std::size_t first = block * kRows;
            logits.compute(scaled_.row(first).data(), std::min(kRows, rows_left(first)),
                           result.data() + first * classifier.classes, scratch.data());
        }
    });
    return result;
}

}  // namespace cait
