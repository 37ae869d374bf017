// The least value of a smooth function of many numbers: L-BFGS (Nocedal 1980) with a line search
// that holds the weak Wolfe conditions by bisection (Lewis & Overton 2013).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace cait {

struct LbfgsOptions {
    std::size_t iterations = 1000;
    double gradient = 1e-5;   // ends where no slope is larger …
    double decrease = 1e-9;   // … or a step lowers the value by less than this part of it
    std::size_t memory = 10;  // steps that are remembered
    // Turns a gradient into about the way to the least value, up to its length: a symmetric,
    // positive definite map. Changes how fast the end is reached, not where it is.
    std::function<void(std::span<double>)> precondition = {};
};

struct LbfgsResult {
    std::vector<double> x;
    double value = 0;
    std::size_t iterations = 0;
    bool converged = false;
};

// value = function(x, gradient), which fills the gradient.
using SmoothFunction = std::function<double(std::span<const double> x, std::span<double> gradient)>;
LbfgsResult minimise(const SmoothFunction& function, std::vector<double> start,
                     const LbfgsOptions& options);

}  // namespace cait
