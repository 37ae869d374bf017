// A learning-rate range test (Smith 2015, arXiv 1506.01186): the rate rises step by step from far
// too low to far too high, and the loss tells where learning is fastest. Nothing is kept of the
// weights.
#pragma once

#include <vector>

#include "report/lr_finder_chart.h"
#include "train/distributed/world.h"
#include "train/recipe/recipe.h"
#include "train/trainer.h"

namespace cait {

struct LrFinding {
    std::vector<LrPoint> points;  // by rising rate, each with the mean loss of its neighbours
    double fastest = 0;           // in the middle of the stretch in which the loss falls fastest
    double lowest = 0;            // the rate at which the loss is lowest
    double recipe_lr = 0;  // optim.lr for the fastest, where the recipe scales it by the batch
    bool is_clear = true;  // false: the losses scatter so much that the fall may be chance
};

// Throws as train() does. The observer gets notes and steps; the folder is not touched.
LrFinding find_learning_rate(const Recipe& recipe, const TrainOptions& options,
                             const WorldInfo& world = {});

// What the losses of single steps say; apart from the run, so that it can be tried. The first ones
// do not count, nor does what comes after the lowest. Throws Error when there are too few of them
// or the loss never falls.
LrFinding judge_rates(std::vector<LrPoint> points);

}  // namespace cait
