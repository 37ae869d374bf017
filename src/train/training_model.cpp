#include "train/training_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "data/sentences/vocabulary.h"
#include "models/catalogue.h"
#include "models/settings.h"
#include "models/task.h"
#include "train/recipe/objective_rows.h"
#include "weights/verify_weights.h"

namespace cait {

namespace {

constexpr const char* kPieces = "vocabulary";  // a key of models that translate

Model fresh_model(const Recipe& recipe, SettingList settings, const std::string& classes,
                  std::uint64_t seed) {
    settings.emplace_back("classes", classes);
    return Model::create(recipe.model.name, settings, seed);
}

// Weights whose file names its classes are taken over class by class. Others say no more than how
// many they have.
Model model_from_weights(const Recipe& recipe, SettingList settings, const Dataset& train,
                         std::uint64_t seed) {
    const Model::LoadOptions options{
        .prefer_ema = recipe.model.prefer_ema, .seed = seed, .allow_fresh_head = true};
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

// LayerScale and its like as another training has left them ("Going deeper with image
// transformers", Touvron et al. 2021, section "Re-training"); make_parameters() keeps them.
void take_scales(const Recipe& recipe, SettingList settings, Model& model) {
    std::erase_if(settings, [](const auto& setting) { return setting.first == "classes"; });
    settings.emplace_back("classes", std::to_string(model.spec().architecture->common().classes));
    const Model source = Model::load(recipe.model.scales, recipe.model.name, settings,
                                     {.allow_fresh_head = true});  // which is not looked at
    std::map<std::string, Tensor> weights = model.weights();
    std::size_t taken = 0;
    for (const ParamSpec& spec : record(model.spec()).params) {
        if (spec.role.kind != ParamRole::Kind::residual_scale) continue;
        weights[spec.name] = source.weights().at(spec.name);
        ++taken;
    }
    if (taken == 0)
        throw UsageError(
            fmt::format("model.scales: expected a model with weights of its residual "
                        "branches, which {} has not",
                        recipe.model.name));
    Model scaled = model.with_weights(std::move(weights));
    scaled.add_note(fmt::format("{} weights of residual branches are those of {} and do not learn",
                                taken, recipe.model.scales));
    model = std::move(scaled);
}

// The recipe's head, as settings of a model.
SettingList head_settings(HeadConfig head) {
    Settings keys;
    bind(keys, head);
    return keys.values();
}

// The recipe's head for the classes of pixels or objects. Where the preset or the file has one
// already, only what the recipe changes is changed.
HeadConfig head_for(const Recipe& recipe, const HeadConfig& known, std::size_t classes) {
    HeadConfig head = recipe.head;
    if (head.kind == HeadKind::linear) head.kind = HeadKind::linear_map;
    if (known.kind == head.kind) {
        HeadConfig defaults;
        defaults.kind = head.kind;  // kinds have defaults of their own for keys that they share
        Settings wanted, usual, result;
        HeadConfig asked = head;
        head = known;
        bind(wanted, asked);
        bind(usual, defaults);
        bind(result, head);
        const SettingList before = usual.values();
        const SettingList now = wanted.values();
        for (std::size_t i = 0; i < now.size(); ++i)
            if (now[i].second != before[i].second) result.set(now[i].first, now[i].second);
    }
    head.dense.classes = head.detection.classes = std::int64_t(classes);
    return head;
}

// Classes of pixels or objects, on a fresh trunk or on that of a file, whose own classes of that
// kind are taken over by name.
Model model_with_own_classes(const Recipe& recipe, const Dataset& train, std::uint64_t seed) {
    const std::size_t classes = train.classes().size();
    SettingList settings = recipe.model.settings;
    Model model;
    if (recipe.model.weights.empty()) {
        const HeadConfig known = configure(recipe.model.name, settings).head;
        for (const auto& setting : head_settings(head_for(recipe, known, classes)))
            settings.push_back(setting);
        model = Model::create(recipe.model.name, settings, seed);
    } else {
        verify_weights(recipe.model.weights);  // before hours are spent on them
        model = Model::load(
            recipe.model.weights, recipe.model.name, settings,
            {.prefer_ema = recipe.model.prefer_ema, .seed = seed, .allow_fresh_head = true});
        if (model.spec().head.has_own_classes() && !model.classes().empty())
            model = model.with_classes(train.classes(), seed);
        model = model.with_head(head_settings(head_for(recipe, model.spec().head, classes)), seed);
    }
    if (!recipe.model.scales.empty()) take_scales(recipe, settings, model);
    model.set_classes(train.classes());
    Task task = task_of(recipe);
    if (task.name == kSegment) task.colours = train.colours();
    model.set_task(std::move(task));
    return model;
}

// The model reads pieces below its own number of them; the rest of a table that was padded is never
// asked for.
void check_pieces(const Model& model, std::int64_t pieces) {
    const std::int64_t rows = parse_integer(model.settings().at(kPieces));
    if (pieces > rows)
        throw UsageError(
            fmt::format("model.{}: expected at least the {} pieces of the vocabulary, "
                        "found {}",
                        kPieces, pieces, rows));
}

}  // namespace

Model translation_model(const Recipe& recipe, const Dataset& train,
                        const std::optional<TextFacts>& known,
                        const std::function<TextFacts()>& make) {
    const auto seed = std::uint64_t(recipe.train.seed);
    SettingList settings = recipe.model.settings;
    std::optional<Model> given;
    if (!recipe.model.weights.empty()) {
        verify_weights(recipe.model.weights);  // before hours are spent on them
        given = Model::load(recipe.model.weights, recipe.model.name, settings,
                            {.prefer_ema = recipe.model.prefer_ema, .seed = seed});
    }
    TextFacts facts = known ? *known : given && given->text() ? *given->text() : make();
    std::tie(facts.source, facts.target) = train.languages();
    const VocabularyPtr vocabulary =
        read_vocabulary(facts.kind, facts.vocabulary, "the vocabulary of the run");
    if (!given) {
        const auto own = std::ranges::find(settings, kPieces, &SettingList::value_type::first);
        if (own == settings.end())
            settings.emplace_back(kPieces, std::to_string(vocabulary->size()));
        given = Model::create(recipe.model.name, settings, seed);
    }
    check_pieces(*given, vocabulary->size());
    given->set_task(task_of(recipe));
    given->set_text(std::move(facts));
    return *given;
}

Model training_model(const Recipe& recipe, const Dataset& train) {
    if (recipe.head.has_own_classes() || asks_for(recipe.loss, &ObjectiveTerm::pixels))
        return model_with_own_classes(recipe, train, std::uint64_t(recipe.train.seed));
    SettingList settings = recipe.model.settings;
    const auto classes = std::to_string(train.classes().size());
    for (const auto& [key, value] : settings)
        if (key == "classes" && value != classes)
            throw UsageError(
                fmt::format("model.classes: expected the data's {}, found {}", classes, value));
    const auto seed = std::uint64_t(recipe.train.seed);
    Model model = recipe.model.weights.empty() ? fresh_model(recipe, settings, classes, seed)
                                               : model_from_weights(recipe, settings, train, seed);
    if (!recipe.model.scales.empty()) take_scales(recipe, settings, model);
    if (model.spec().architecture->common().channels != 3)
        throw UsageError("model.channels: training reads colour images: expected 3");
    model.set_classes(train.classes());
    model.set_task(task_of(recipe));
    // A projector of the weights' file is dropped where the recipe has none: the trunk is kept.
    if (recipe.head.plain() && model.spec().head.plain()) return model;
    return model.with_head(head_settings(recipe.head), seed);
}

}  // namespace cait
