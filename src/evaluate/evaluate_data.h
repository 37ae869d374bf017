// A model and a data set in, an evaluation out: what `cait eval` does, whatever runs the model.
#pragma once

#include <cstddef>
#include <functional>

#include "cait/model.h"
#include "data/bad_images.h"
#include "data/dataset.h"
#include "evaluate/evaluation.h"
#include "models/executor.h"
#include "system/cpu_limit.h"

namespace cait {

struct EvaluateDataOptions {
    std::size_t batch = 32;
    int threads = usable_cores();  // that read and prepare images
    bool flip = false;             // also look at the mirror image
    bool heads = false;            // also the decisions of the class and distillation heads alone
    bool late_fusion = false;      // both heads joined by their probabilities (late_fusion.h)
    bool skip_bad = false;         // otherwise the first unreadable image is an Error
    std::size_t worst = 24;
    std::function<void(std::size_t images)> progress = {};
};

struct DataEvaluation {
    Evaluation evaluation;
    std::vector<BadImage> bad;  // images that were left out
};

// Whether there is a distillation head beside that of the class, as late_fusion needs.
bool has_two_heads(const Model& model);

// Images are prepared as model.preprocessing() says. The labels of `dataset` are the model's
// classes (match_classes), of which an image may have several.
DataEvaluation evaluate_data(const Executor& executor, const Model& model,
                             const DatasetPtr& dataset, const EvaluateDataOptions& options);

}  // namespace cait
