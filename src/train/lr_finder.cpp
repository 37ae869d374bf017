#include "train/lr_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cait/error.h"
#include "train/optim/schedule.h"
#include "train/recipe/recipe_keys.h"
#include "train/run_plan.h"
#include "train/torch/device.h"

namespace cait {

namespace {

constexpr std::size_t kSteps = 100;
constexpr double kFirst = 1e-7, kLast = 1;
constexpr double kMemory = 0.9;    // of the mean
constexpr double kDiverged = 2;    // times the lowest mean: higher rates teach nothing
constexpr std::size_t kLeast = 8;  // points that a judgement needs

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

}  // namespace

LrFinding judge_rates(std::vector<LrPoint> points) {
    LrFinding finding;
    if (points.size() < kLeast)
        throw Error(fmt::format("the loss grew beyond bounds after {} steps, at a rate of {:.1e}",
                                points.size(), points.empty() ? 0 : points.back().rate));
    const auto lowest = std::ranges::min_element(points, {}, &LrPoint::loss);
    finding.lowest = lowest->rate;
    double steepest = 0;
    constexpr std::ptrdiff_t kReach = 3;  // points on either side of a slope
    for (auto at = points.begin() + kReach; at + kReach < points.end() && at < lowest; ++at) {
        const LrPoint &before = at[-kReach], &after = at[kReach];
        const double slope = (after.loss - before.loss) / std::log(after.rate / before.rate);
        if (slope < steepest) {
            steepest = slope;
            finding.fastest = at->rate;
        }
    }
    if (finding.fastest == 0)
        throw Error("the loss fell at no learning rate: is the model or the data wrong?");
    finding.points = std::move(points);
    return finding;
}

LrFinding find_learning_rate(const Recipe& given, const TrainOptions& options,
                             const WorldInfo& world) {
    check(given);
    if (world.world > 1) throw UsageError("--find-lr: expected a single process");
    usable_device(given.train.device, "train.device");
    Recipe recipe = given;
    recipe.schedule.epochs = std::max(recipe.schedule.epochs, double(kSteps));
    ProcessGroup group(world);
    RunPlan plan = plan_run(recipe, std::nullopt, options.folder, group);
    for (const std::string& note : plan.notes) options.observer.note(note);
    const auto loader = training_loader(
        plan.recipe, plan.data, plan.model.preprocessing(), plan.size, plan.place,
        [&](const BadImage& bad) {
            options.observer.note(fmt::format("skipped {}: {}", bad.name, bad.reason));
        });
    std::vector<LrPoint> points;
    LatestMean mean;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t step = 0; step < kSteps && options.stop() == 0; ++step) {
        Batch* batch = loader->next();
        if (batch == nullptr) break;
        const double lr = rate_of(step);
        const StepResult result = plan.step->run(*batch, step, lr);
        if (!result.first_bad.empty()) break;
        points.push_back({lr, mean.add(result.loss)});
        lowest = std::min(lowest, points.back().loss);
        options.observer.step({.epochs = 1,
                               .batch = step + 1,
                               .batches = kSteps,
                               .loss = points.back().loss,
                               .lr = lr});
        if (points.size() > kLeast && points.back().loss > kDiverged * lowest) break;
    }
    LrFinding finding = judge_rates(std::move(points));
    const double scale = scaled_lr(recipe.optim, plan.recipe.data.batch) / recipe.optim.lr;
    finding.recipe_lr = finding.fastest / scale;
    return finding;
}

}  // namespace cait
