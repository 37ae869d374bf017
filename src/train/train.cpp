// cait/train.h, for users of the library: a forward pass, and training by a recipe's name.
#include "cait/train.h"

#include "cait/error.h"
#include "train/distributed/world.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/run/run_folder.h"
#include "train/torch/torch_session.h"
#include "train/trainer.h"

namespace cait {

std::map<std::string, Tensor> forward(const Model& model, const Tensor& images,
                                      const ForwardOptions& options) {
    if (options.batch == 0) throw UsageError("batch: expected at least 1, found 0");
    return run_in_batches(*make_torch_session(model, options.precision), images, options.taps,
                          options.batch, options.progress);
}

TrainOutcome train(const TrainRequest& request) {
    if (request.folder.empty()) throw UsageError("train: expected a folder for the run");
    std::vector<OwnKey> own;
    Recipe recipe = request.resume
                        ? read_run_recipe(RunFiles(Folder::open(request.folder)).recipe())
                        : find_recipe(request.recipe, &own);
    const Recipe file = recipe;
    const WorldInfo world = world_from_environment();
    for (const std::string& note : set_recipe_values(recipe, request.settings))
        if (world.rank == 0) request.observer.note(note);  // as everything else that a run tells
    check(recipe);
    if (!request.allow_unused) refuse_unused(recipe, file, own, request.settings);
    TrainOptions options;
    options.folder = request.folder;
    options.resume = request.resume;
    options.stop = request.stop;
    options.observer = request.observer;
    return train(recipe, options, world);
}

}  // namespace cait
