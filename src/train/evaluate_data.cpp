#include "train/evaluate_data.h"

#include <memory>

#include "cait/error.h"
#include "models/catalogue.h"
#include "torch/convert.h"
#include "train/evaluate_model.h"
#include "train/evaluation_loader.h"

namespace cait {

namespace {

TorchExecutor executor_for(const Model& model, bool heads) {
    if (heads) {
        try {
            return TorchExecutor(
                record(model.spec(), {.taps = {"logits", "logits_class", "logits_dist"}}));
        } catch (const UsageError&) {  // a model with one head does not offer the others
        }
    }
    return TorchExecutor(record(model.spec()));
}

}  // namespace

DataEvaluation evaluate_data(const Model& model, const DatasetPtr& dataset,
                             const EvaluateDataOptions& options) {
    const TorchExecutor executor = executor_for(model, options.heads);
    TorchTensors params;
    for (const auto& [name, tensor] : model.weights()) params[name] = to_torch(tensor);
    const std::unique_ptr<Loader> loader = evaluation_loader(
        dataset, model.preprocessing(), model.spec().architecture->common().image_size,
        {.batch = options.batch, .threads = options.threads, .skip_bad = options.skip_bad});
    EvaluateContext context;
    context.precision = options.precision;
    Evaluation evaluation = evaluate_model(executor, params, *loader, context,
                                           {.flip = options.flip,
                                            .worst = options.worst,
                                            .labels = dataset.get(),
                                            .progress = options.progress});
    return {std::move(evaluation), loader->bad_images()};
}

}  // namespace cait
