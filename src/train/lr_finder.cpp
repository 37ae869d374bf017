#include "train/lr_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "cait/error.h"
#include "train/optim/schedule.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_keys.h"
#include "train/run_plan.h"
#include "train/torch/device.h"

namespace cait {

namespace {

constexpr std::size_t kSteps = 100;
constexpr double kFirst = 1e-7, kLast = 1;
constexpr double kMemory = 0.9;  // of the mean
constexpr double kDiverged = 2;  // times the lowest mean: higher rates teach nothing
// The first losses are noise, as nothing is learned yet: by chance they fall steeper than any
// later.
constexpr std::size_t kSkipped = 10;
constexpr std::size_t kReach = 7;  // points on either side of a slope, about a decade together
constexpr std::size_t kLeast = kSkipped + kReach + 2;  // points that a judgement needs
constexpr std::size_t kSmoothed = 5;                   // on either side of a mean
constexpr double kClear =
    4;  // standard errors: losses that only scatter reach it once in fifty runs

double rate_of(std::size_t step) {
    return kFirst * std::pow(kLast / kFirst, double(step) / double(kSteps - 1));
}

// The latest losses, each counting a tenth less than the next; without a bias towards zero.
class LatestMean {
public:
    double add(double value) {
        sum_ = kMemory * sum_ + (1 - kMemory) * value;
        weight_ = kMemory * weight_ + (1 - kMemory);
        return sum_ / weight_;
    }

private:
    double sum_ = 0, weight_ = 0;
};

// Each the mean of its neighbours, as many before as after, so that nothing moves to higher rates.
std::vector<LrPoint> smoothed(std::span<const LrPoint> points) {
    std::vector<LrPoint> means;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t reach = std::min({kSmoothed, i, points.size() - 1 - i});
        double sum = 0;
        for (std::size_t j = i - reach; j <= i + reach; ++j) sum += points[j].loss;
        means.push_back({points[i].rate, sum / double(2 * reach + 1)});
    }
    return means;
}

// Of the loss over the logarithm of the rate, by least squares, with its standard error.
struct Slope {
    double fall = 0;  // below 0 where the loss falls
    double error = 0;
};

Slope fit(std::span<const LrPoint> points) {
    const auto count = double(points.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
    for (const LrPoint& point : points) {
        mean_x += std::log(point.rate) / count;
        mean_y += point.loss / count;
    }
    for (const LrPoint& point : points) {
        xx += std::pow(std::log(point.rate) - mean_x, 2);
        xy += (std::log(point.rate) - mean_x) * (point.loss - mean_y);
    }
    const double slope = xy / xx;
    for (const LrPoint& point : points)
        squares += std::pow(point.loss - mean_y - slope * (std::log(point.rate) - mean_x), 2);
    return {slope, std::sqrt(squares / (count - 2) / xx)};
}

}  // namespace

LrFinding judge_rates(std::vector<LrPoint> points) {
    if (points.size() < kLeast)
        throw Error(fmt::format("the loss grew beyond bounds after {} steps, at a rate of {:.1e}",
                                points.size(), points.empty() ? 0 : points.back().rate));
    LrFinding finding;
    finding.points = smoothed(points);
    const std::vector<LrPoint>& smooth = finding.points;
    const auto lowest = std::size_t(
        std::ranges::min_element(smooth.begin() + kSkipped, smooth.end(), {}, &LrPoint::loss) -
        smooth.begin());
    finding.lowest = smooth[lowest].rate;
    // Near the minimum a stretch is cut off there: what comes after it rises.
    Slope steepest;
    for (std::size_t at = kSkipped + kReach; at < lowest; ++at) {
        const std::size_t end = std::min(lowest, at + kReach) + 1;
        const Slope slope = fit(std::span(points).subspan(at - kReach, end - (at - kReach)));
        if (slope.fall >= steepest.fall) continue;
        steepest = slope;
        finding.fastest = smooth[at].rate;
    }
    if (finding.fastest == 0)
        throw Error("the loss fell at no learning rate: is the model or the data wrong?");
    finding.is_clear = -steepest.fall > kClear * steepest.error;
    return finding;
}

LrFinding find_learning_rate(const Recipe& given, const TrainOptions& options,
                             const WorldInfo& world) {
    check(given);
    if (world.world > 1) throw UsageError("--find-lr: expected a single process");
    usable_device(given.train.device, "train.device");
    Recipe recipe = given;
    recipe.schedule.epochs = std::max(recipe.schedule.epochs, double(kSteps));
    recipe.train.steps = 0;
    ProcessGroup group(world);
    RunPlan plan = plan_run(recipe, std::nullopt, options.folder, group);
    for (const std::string& note : plan.notes) options.observer.note(note);
    const auto loader = training_loader(
        plan.recipe, plan.data, plan.model.preprocessing(), plan.size, plan.place,
        [&](const BadImage& bad) {
            options.observer.note(fmt::format("skipped {}: {}", bad.name, bad.reason));
        });
    std::vector<LrPoint> losses;
    LatestMean mean;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t step = 0; step < kSteps && options.stop() == 0; ++step) {
        Batch* batch = loader->next();
        if (batch == nullptr) break;
        const double lr = rate_of(step);
        const StepResult result = plan.step->run(*batch, step, lr);
        if (!result.first_bad.empty()) break;
        losses.push_back({lr, result.loss});
        const double latest = mean.add(result.loss);
        if (losses.size() > kSkipped) lowest = std::min(lowest, latest);
        options.observer.step(
            {.epochs = 1, .batch = step + 1, .batches = kSteps, .loss = latest, .lr = lr});
        if (losses.size() > kLeast && latest > kDiverged * lowest) break;
    }
    LrFinding finding = judge_rates(std::move(losses));
    const double scale = scaled_lr(recipe.optim, size_of_batch(plan.recipe)) / recipe.optim.lr;
    finding.recipe_lr = finding.fastest / scale;
    return finding;
}

}  // namespace cait
