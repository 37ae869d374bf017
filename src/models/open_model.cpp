#include "models/open_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "data/class_list.h"
#include "data/imagenet_classes.h"
#include "models/catalogue.h"
#include "models/setting_facts.h"
#include "models/task.h"
#include "system/open_file.h"
#include "weights/weight_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

void use_class_file(Model& model, const std::string& file) {
    std::vector<std::string> names = read_class_file(file);
    const auto expected = std::size_t(class_count(model.spec()));
    if (names.size() != expected)
        throw Error(
            fmt::format("{}: expected {} class names, as many as the model has classes, "
                        "found {}",
                        file, expected, names.size()));
    model.set_classes(std::move(names));
}

void name_classes(OpenedModel& opened) {
    const ModelWords& words = opened.source.words;
    Model& model = opened.model;
    if (!words.classes.empty()) return use_class_file(model, words.classes);
    const bool may_be_imagenet = words.imagenet_names && !model.spec().head.has_own_classes();
    if (!may_be_imagenet || !model.classes().empty() || model.has_fresh_head()) return;
    auto list = imagenet_list(std::size_t(class_count(model.spec())));
    if (!list) return;
    opened.notes.push_back(imagenet_note(words.weights, list->title));
    model.set_classes(std::move(list->names));
}

void prepare_images(OpenedModel& opened) {
    Model& model = opened.model;
    const PreparationChange& change = opened.source.words.preparation;
    const bool assumed = model.has_assumed_preprocessing();
    if (change.any()) model.set_preprocessing(change.applied_to(model.preprocessing()));
    if (!assumed) return;
    if (auto note = assumed_preparation(opened.source, model.spec().name, model.preprocessing()))
        opened.notes.push_back(std::move(*note));
}

// Files that name their models do not take settings that were meant for others.
void refuse_ignored_settings(const std::vector<FoundModel>& found,
                             const std::vector<OpenedModel>& models) {
    const FoundModel* given = nullptr;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!models[i].source.words.settings.empty()) return;
        if (!found[i].words.settings.empty() && !found[i].words.allow_unused) given = &found[i];
    }
    if (given != nullptr)
        throw UsageError(
            fmt::format("model.{}: has no effect: every file names its own model and settings "
                        "(leave it out, or add --allow-unused)",
                        given->words.settings.front().first));
}

}  // namespace

SettingList ModelWords::all_settings() const {
    SettingList all = settings;
    if (!image_size.empty()) all.emplace_back("image_size", image_size);
    return all;
}

FoundModel find_model(ModelWords words, const decltype(ResolveOptions::fetching)& fetching) {
    FoundModel found{std::move(words), {}};
    ResolveOptions options;
    options.note = [&](const std::string& text) { found.notes.push_back(text); };
    options.fetching = fetching;
    found.file = resolve_weights(found.words.weights, found.words.model, options).string();
    // Of several models, a missing one is reported before the first is put to work.
    if (!found.file.empty()) OpenFile(found.file);
    return found;
}

OpenedModel open_model(const FoundModel& found) {
    FoundModel source = found;
    ModelWords& words = source.words;
    if (words.file_decides && open_weights(source.file).metadata.contains("cait.model")) {
        words.model.clear();
        words.settings.clear();
    }
    words.file_decides = false;
    Model model = source.file.empty()
                      ? Model::create(words.model, words.all_settings(), words.load.seed)
                      : Model::load(source.file, words.model, words.all_settings(), words.load);
    if (!words.allow_unused)
        refuse_unused_settings(model.spec(), words.settings,
                               {.trains = words.keeps_settings,
                                .loads = !source.file.empty() && !words.keeps_settings});
    std::vector<std::string> notes = source.notes;
    for (const std::string& note : model.notes())
        notes.push_back(fmt::format("{}: {}", source.file, note));
    std::string label = !words.label.empty()   ? words.label
                        : model.name().empty() ? model.spec().name
                                               : model.name();
    OpenedModel opened{std::move(source), std::move(label), std::move(model), std::move(notes)};
    name_classes(opened);
    prepare_images(opened);
    return opened;
}

std::vector<OpenedModel> open_models(const std::vector<FoundModel>& found) {
    std::vector<OpenedModel> models;
    std::vector<std::string> labels;
    for (const FoundModel& one : found) {
        models.push_back(open_model(one));
        labels.push_back(models.back().label);
    }
    refuse_ignored_settings(found, models);
    const std::vector<std::string> unique = unique_labels(found);
    for (std::size_t i = 0; i < models.size(); ++i)
        if (std::ranges::count(labels, labels[i]) > 1) models[i].label = unique[i];
    return models;
}

std::vector<std::string> unique_labels(const std::vector<FoundModel>& found) {
    std::vector<std::string> files, given;
    for (const FoundModel& one : found) {
        files.push_back(one.file);
        given.push_back(one.words.label);
    }
    std::vector<std::string> labels = unique_names(files);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (given[i].empty()) continue;
        const bool shared = std::ranges::count(given, given[i]) > 1;
        labels[i] = shared ? fmt::format("{} ({})", given[i], labels[i]) : given[i];
    }
    return labels;
}

std::optional<std::string> assumed_preparation(const FoundModel& found, const std::string& model,
                                               const Preprocessing& used) {
    const ModelWords& words = found.words;
    if (!words.report_preparation || words.preparation.normalises() ||
        means_official(words.weights))
        return std::nullopt;
    return fmt::format(
        "{} does not say how images are prepared; assumed for {}: {} (--preparation, --mean and "
        "--std change it)",
        found.file, model, preparation_text(used));
}

NamedFile split_name(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || fs::exists(text)) return {"", text};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_model(const std::string& name) {
    return std::ranges::any_of(families(), [&](const Family& family) {
        return std::ranges::find(family.presets, name, &Preset::name) != family.presets.end();
    });
}

ModelWords one_of_several(const std::string& text, ModelWords common, const std::string& option) {
    const NamedFile named = split_name(text);
    common.weights = named.file;
    common.label = named.name;
    common.file_decides = !is_model(named.name);
    if (common.file_decides && !named.name.empty() && means_official(named.file) &&
        common.model.empty()) {
        try {
            configure(named.name);  // throws with the nearest names
        } catch (const UsageError& error) {
            throw UsageError(fmt::format("{} {}: {}", option, text, error.what()));
        }
    }
    if (common.file_decides) return common;
    common.model = named.name;
    common.settings.clear();
    return common;
}

std::vector<std::string> unique_names(const std::vector<std::string>& files) {
    std::vector<std::string> names;
    for (const std::string& file : files) names.push_back(fs::path(file).stem().string());
    const std::vector<std::string> stems = names;
    for (std::size_t i = 0; i < files.size(); ++i)
        if (std::ranges::count(stems, stems[i]) > 1)
            names[i] = fs::absolute(files[i]).parent_path().filename().string() + "/" + stems[i];
    for (std::size_t i = 0; i < files.size(); ++i)
        if (std::ranges::count(names, names[i]) > 1) names[i] += fmt::format(" ({})", i + 1);
    return names;
}

std::string imagenet_note(const std::string& weights, std::string_view list) {
    return fmt::format("{} does not name its classes; the names are those of {}", weights, list);
}

}  // namespace cait
