#include "train/training_model.h"

#include <fmt/format.h>

#include "models/catalogue.h"

namespace cait {

Model training_model(const Recipe& recipe, const Dataset& train) {
    SettingList settings = recipe.model.settings;
    const auto classes = std::to_string(train.classes().size());
    for (const auto& [key, value] : settings)
        if (key == "classes" && value != classes)
            throw UsageError(
                fmt::format("model.classes: expected the data's {}, found {}", classes, value));
    settings.emplace_back("classes", classes);
    const auto seed = std::uint64_t(recipe.train.seed);
    Model model = recipe.model.weights.empty()
                      ? Model::create(recipe.model.name, settings, seed)
                      : Model::load(recipe.model.weights, recipe.model.name, settings,
                                    {.prefer_ema = recipe.model.prefer_ema, .seed = seed});
    if (model.spec().architecture->common().channels != 3)
        throw UsageError("model.channels: training reads colour images: expected 3");
    model.set_classes(train.classes());
    return model;
}

}  // namespace cait
