// A linear classifier on vectors that stay as they are: what can be read off them without training
// anything else. Multinomial logistic regression to its optimum, so that nothing depends on a
// schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/lbfgs.h"
#include "analysis/ridge_solver.h"
#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

struct LinearClassifier {
    std::size_t classes = 0, columns = 0;
    std::vector<double> weights;  // (classes, columns), for the probe's scaled vectors
    std::vector<double> biases;   // (classes)
    double loss = 0;              // mean cross-entropy and penalty
    std::size_t iterations = 0;
    bool converged = false;
};

class LinearProbe {
public:
    // Vectors are centred and divided by one number, so that their mean square is 1 in each column
    // on average: the penalty then means the same for every model. Throws Error, opening with
    // `source`, for fewer than two vectors, values that are not finite, or vectors that are all the
    // same.
    LinearProbe(const Vectors& vectors, const std::string& source, int threads = default_threads());
    ~LinearProbe();
    LinearProbe(const LinearProbe&) = delete;
    LinearProbe& operator=(const LinearProbe&) = delete;

    std::size_t rows() const { return scaled_.rows; }
    const Vectors& scaled() const { return scaled_; }

    // Minimises the mean over the vectors of -log softmax(W x + b)[label], plus |W|² / (2 rows):
    // scikit-learn's LogisticRegression with C = 1.
    LinearClassifier fit(std::span<const std::int64_t> labels, std::size_t classes) const;

    // (rows, classes): W x + b.
    std::vector<float> logits(const LinearClassifier& classifier) const;

    // The function that fit() minimises: x is weights and biases. Products are sums of float32,
    // everything else is float64; neither depends on the number of threads.
    double loss(std::span<const std::int64_t> labels, std::size_t classes,
                std::span<const double> x, std::span<double> gradient) const;

private:
    struct Packed;
    std::vector<double> covariance() const;  // (columns, columns), of the scaled vectors
    std::size_t rows_left(std::size_t first) const { return scaled_.rows - first; }

    Vectors scaled_;
    int threads_;
    std::unique_ptr<Packed> packed_;
    std::optional<RidgeSolver> spread_;  // covariance, for all fits; none of very long vectors
};

}  // namespace cait
