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
    bool skip_bad = false;  // leaves unreadable images out; otherwise the first one is an Error
    double max_bad = 0.05;  // of all images; more is an Error
    std::function<void(const BadImage&)> report = {};  // each that is left out, in order
    TargetList targets = {label_target()};             // empty: images without labels
    std::size_t rank = 0, world = 1;                   // the share of one process
};

std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& dataset,
                                          const Preprocessing& preprocessing, ImageSize size,
                                          const EvaluationLoading& loading);

}  // namespace cait
