#include "evaluate/evaluate_data.h"

#include <memory>

#include "evaluate/evaluate.h"
#include "evaluate/evaluation_loader.h"
#include "evaluate/late_fusion.h"
#include "models/catalogue.h"

namespace cait {

namespace {

std::vector<std::string> decisions_of(const Model& model, bool heads) {
    if (heads && offered_taps(model.spec()).contains("logits_dist"))
        return {"logits", "logits_class", "logits_dist"};
    return {"logits"};
}

}  // namespace

bool has_two_heads(const Model& model) { return decisions_of(model, true).size() > 1; }

DataEvaluation evaluate_data(const Executor& executor, const Model& model,
                             const DatasetPtr& dataset, const EvaluateDataOptions& options) {
    expect_images(model.spec());
    const CommonConfig& common = model.spec().architecture->common();
    const std::unique_ptr<Loader> loader = evaluation_loader(
        dataset, model.preprocessing(), common.image_size,
        {.batch = options.batch, .threads = options.threads, .skip_bad = options.skip_bad});
    const LateFusionExecutor fused(executor);
    const Executor& runs = options.late_fusion ? static_cast<const Executor&>(fused) : executor;
    Evaluation evaluation = evaluate(runs, std::size_t(common.classes), *loader,
                                     {.taps = decisions_of(model, options.heads),
                                      .flip = options.flip,
                                      .task = model.task(),
                                      .worst = options.worst,
                                      .labels = dataset.get(),
                                      .progress = options.progress});
    return {std::move(evaluation), loader->bad_images()};
}

}  // namespace cait
