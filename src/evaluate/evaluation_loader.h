// A data set as a model's evaluation wants it: every image once, in order, prepared as the model
// says.
#pragma once

#include <memory>

#include "cait/model.h"
#include "data/loader.h"
#include "graph/graph.h"
#include "system/cpu_limit.h"

namespace cait {

struct EvaluationLoading {
    std::size_t batch = 32;
    int threads = usable_cores();
    bool skip_bad = false;  // otherwise the first unreadable image is an Error
    double max_bad = 0.05;  // of all images; more is an Error
    std::function<void(const BadImage&)> report = {};  // each that is skipped, in order
    std::size_t rank = 0, world = 1;                   // the share of one process
};

std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& dataset,
                                          const Preprocessing& preprocessing, ImageSize size,
                                          const EvaluationLoading& loading);

}  // namespace cait
