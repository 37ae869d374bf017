#include "train/training_model.h"

#include <fmt/format.h>

#include "models/catalogue.h"
#include "weights/verify_weights.h"

namespace cait {

namespace {

Model fresh_model(const Recipe& recipe, SettingList settings, const std::string& classes,
                  std::uint64_t seed) {
    settings.emplace_back("classes", classes);
    return Model::create(recipe.model.name, settings, seed);
}

// Weights whose file names its classes are taken over class by class. Others say no more than how
// many they have.
Model model_from_weights(const Recipe& recipe, SettingList settings, const Dataset& train,
                         std::uint64_t seed) {
    const Model::LoadOptions options{.prefer_ema = recipe.model.prefer_ema, .seed = seed};
    const auto load = [&] {
        return Model::load(recipe.model.weights, recipe.model.name, settings, options);
    };
    verify_weights(recipe.model.weights);  // before hours are spent on them
    std::erase_if(settings, [](const auto& setting) { return setting.first == "classes"; });
    if (Model named = load(); !named.classes().empty())
        return named.with_classes(train.classes(), seed);
    settings.emplace_back("classes", std::to_string(train.classes().size()));
    Model model = load();
    if (!model.has_fresh_head())
        model.add_note(
            fmt::format("{} does not name its {} classes: the head is kept, for the data's classes "
                        "in their order",
                        recipe.model.weights, train.classes().size()));
    return model;
}

}  // namespace

Model training_model(const Recipe& recipe, const Dataset& train) {
    SettingList settings = recipe.model.settings;
    const auto classes = std::to_string(train.classes().size());
    for (const auto& [key, value] : settings)
        if (key == "classes" && value != classes)
            throw UsageError(
                fmt::format("model.classes: expected the data's {}, found {}", classes, value));
    const auto seed = std::uint64_t(recipe.train.seed);
    Model model = recipe.model.weights.empty() ? fresh_model(recipe, settings, classes, seed)
                                               : model_from_weights(recipe, settings, train, seed);
    if (model.spec().architecture->common().channels != 3)
        throw UsageError("model.channels: training reads colour images: expected 3");
    model.set_classes(train.classes());
    return model;
}

}  // namespace cait
