// Shows a whole data set to a model and collects what it predicts. Training does this after an
// epoch, `cait eval` once.
#pragma once

#include <cstddef>
#include <functional>

#include "data/loader.h"
#include "evaluate/evaluation.h"
#include "models/executor.h"

namespace cait {

struct EvaluateOptions {
    std::vector<std::string> taps = {"logits"};  // decisions; "logits" must be one of them
    bool flip = false;       // logits are the mean of those of the image and of its mirror image
    Task task = {};          // of the model: what its answers are measured by
    std::size_t worst = 24;  // number of the most confident mistakes that are kept
    // Where images may have several labels, or none: the set that the loader reads. Without it
    // the batches' labels count.
    const Dataset* labels = nullptr;
    std::function<void(std::size_t images)> progress = {};  // after each batch, with all so far
};

// The loader goes through the data once (Tail::keep, no shuffle) and does not replace unreadable
// images, as evaluation_loader() makes it.
Evaluation evaluate(const Executor& executor, std::size_t classes, Loader& loader,
                    const EvaluateOptions& options = {});

}  // namespace cait
