// Shows a whole data set to a model and collects what it predicts. Training does this after an
// epoch, `cait eval` once.
#pragma once

#include <cstddef>
#include <functional>

#include "data/loader.h"
#include "measure/evaluation.h"
#include "torch/executor.h"

namespace cait {

struct EvaluateModelOptions {
    bool flip = false;       // logits are the mean of those of the image and of its mirror image
    std::size_t worst = 24;  // so many of the most confident mistakes are kept
    // Where images may have several labels: the set that the loader reads. Without it the
    // batches' labels count.
    const Dataset* labels = nullptr;
    std::function<void(std::size_t images)> progress = {};  // after each batch, with all so far
};

// `executor` has the output "logits" and is recorded for inference; the loader goes through the
// data once (Tail::keep, no shuffle). An image that the loader put in the place of an unreadable
// one is left out, for it comes in its own place, too.
Evaluation evaluate_model(const TorchExecutor& executor, const TorchTensors& params, Loader& loader,
                          EvaluateContext context, const EvaluateModelOptions& options = {});

}  // namespace cait
