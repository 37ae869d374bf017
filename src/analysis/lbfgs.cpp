#include "analysis/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

namespace cait {

namespace {

using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct Place {
    Numbers x, gradient;
    double value = 0;
};

struct Remembered {
    Numbers step, change;  // of x and of the gradient
    double along = 0;      // their inner product
    double scale = 0;      // which the preconditioner is multiplied by
};

using Precondition = std::function<void(std::span<double>)>;

// What the remembered steps say of the curvature, applied to the gradient.
Numbers direction_at(const Place& at, const std::deque<Remembered>& memory,
                     const Precondition& precondition) {
    Numbers direction = at.gradient;
    std::vector<double> weights(memory.size());
    for (std::size_t i = memory.size(); i-- > 0;) {
        weights[i] = dot(memory[i].step, direction) / memory[i].along;
        for (std::size_t j = 0; j < direction.size(); ++j)
            direction[j] -= weights[i] * memory[i].change[j];
    }
    if (precondition) precondition(direction);
    if (!memory.empty())
        for (double& one : direction) one *= memory.back().scale;
    for (std::size_t i = 0; i < memory.size(); ++i) {
        const double weight = weights[i] - dot(memory[i].change, direction) / memory[i].along;
        for (std::size_t j = 0; j < direction.size(); ++j)
            direction[j] += weight * memory[i].step[j];
    }
    for (double& one : direction) one = -one;
    return direction;
}

// Moves along the direction until the value has fallen enough and the slope is flat enough. False
// where rounding leaves no such place: `at` then stays.
bool search_line(const SmoothFunction& function, const Numbers& direction, double first,
                 Place& at) {
    constexpr double kFall = 1e-4, kFlat = 0.9;
    constexpr int kMostTrials = 40;
    const double slope = dot(at.gradient, direction);
    if (!(slope < 0)) return false;
    double low = 0, high = std::numeric_limits<double>::infinity(), length = first;
    Place trial{at.x, Numbers(at.x.size()), 0};
    for (int i = 0; i < kMostTrials; ++i) {
        for (std::size_t j = 0; j < at.x.size(); ++j) trial.x[j] = at.x[j] + length * direction[j];
        trial.value = function(trial.x, trial.gradient);
        if (!(trial.value <= at.value + kFall * length * slope)) {
            high = length;
        } else if (dot(trial.gradient, direction) < kFlat * slope) {
            low = length;
        } else {
            std::swap(at, trial);
            return true;
        }
        length = std::isinf(high) ? 2 * length : (low + high) / 2;
    }
    return false;
}

Remembered remember(const Place& before, const Place& now, const Precondition& precondition) {
    Remembered step{now.x, now.gradient};
    for (std::size_t j = 0; j < now.x.size(); ++j) {
        step.step[j] -= before.x[j];
        step.change[j] -= before.gradient[j];
    }
    step.along = dot(step.step, step.change);
    Numbers turned = step.change;
    if (precondition) precondition(turned);
    step.scale = step.along / dot(step.change, turned);
    return step;
}

double steepest(const Numbers& gradient) {
    double most = 0;
    for (const double one : gradient) most = std::max(most, std::fabs(one));
    return most;
}

}  // namespace

LbfgsResult minimise(const SmoothFunction& function, std::vector<double> start,
                     const LbfgsOptions& options) {
    Place at{std::move(start), {}, 0};
    at.gradient.resize(at.x.size());
    at.value = function(at.x, at.gradient);
    std::deque<Remembered> memory;
    LbfgsResult result;
    result.converged = steepest(at.gradient) <= options.gradient;
    while (!result.converged && result.iterations < options.iterations) {
        ++result.iterations;
        const Place before = at;
        const Numbers direction = direction_at(at, memory, options.precondition);
        const double first = memory.empty() && !options.precondition
                                 ? 1 / std::max(1.0, std::sqrt(dot(at.gradient, at.gradient)))
                                 : 1;
        if (!search_line(function, direction, first, at)) {
            result.converged = memory.empty();
            if (memory.empty()) break;
            memory.clear();  // once more from here, straight down
            continue;
        }
        Remembered step = remember(before, at, options.precondition);
        if (step.along > 0) memory.push_back(std::move(step));
        if (memory.size() > options.memory) memory.pop_front();
        result.converged = steepest(at.gradient) <= options.gradient ||
                           before.value - at.value <= options.decrease * std::fabs(at.value);
    }
    result.value = at.value;
    result.x = std::move(at.x);
    return result;
}

}  // namespace cait
