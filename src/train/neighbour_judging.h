// Validation of features where no classifier learns: images are classified by their nearest
// training images, and the votes are judged as logits would be.
#pragma once

#include <functional>

#include "cait/model.h"
#include "data/dataset.h"
#include "evaluate/metrics.h"
#include "models/executor.h"
#include "train/distributed/process_group.h"
#include "train/recipe/recipe.h"

namespace cait {

struct JudgedData {
    DatasetPtr collection;  // with the labels that vote
    DatasetPtr queries;     // of the same classes
};

struct NeighbourJudging {
    std::string tap = "features";
    std::size_t neighbours = 20;  // at most as many as the collection has
    double temperature = 0.05;    // of their votes
    std::size_t batch = 256;
    int threads = 1;
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

NeighbourJudging neighbour_judging(const Recipe& recipe, int threads,
                                   std::function<void(std::size_t, std::size_t)> progress);

// Every process embeds its share of both sides, and all get the same result.
Metrics judge_by_neighbours(const Executor& executor, const Model& model, const JudgedData& data,
                            const NeighbourJudging& options, ProcessGroup& group);

}  // namespace cait
