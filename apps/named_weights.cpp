#include "named_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "class_names.h"
#include "models/catalogue.h"
#include "output.h"
#include "weights/weight_file.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

std::string checked_model(std::string name, const std::string& text, const std::string& option) {
    try {
        configure(name);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}: {}", option, text, error.what()));
    }
    return name;
}

bool says_its_model(const std::string& file) {
    return open_weights(file).metadata.contains("cait.model");
}

}  // namespace

WeightsWord weights_word(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || fs::exists(text)) return {"", text};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

NamedWeights named_weights(const std::string& text, const ModelOptions& options,
                           const std::string& option) {
    const WeightsWord word = weights_word(text);
    const bool named = word.weights != text;
    const std::string model = named ? checked_model(word.name, text, option) : options.model;
    const std::string file = weights_file(word.weights, model);
    if (named) return {file, model, {}};
    if (says_its_model(file)) return {file, {}, {}};
    return {file, options.model, options.settings()};
}

void fetch_named(const std::vector<std::string>& texts, const ModelOptions& options) {
    std::vector<std::string> told_later;
    for (const std::string& text : texts) {
        const WeightsWord word = weights_word(text);
        if (word.weights == "official")
            weights_file(word.weights, word.weights == text ? options.model : word.name,
                         &told_later);
    }
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

std::vector<NamedModel> load_named(const std::vector<std::string>& weights,
                                   const ModelOptions& options, const std::string& classes) {
    std::vector<NamedModel> models;
    std::vector<std::string> files;
    for (const std::string& word : weights) {
        NamedWeights source = weights.size() > 1 ? named_weights(word, options, "--weights")
                                                 : NamedWeights{weights_file(word, options.model),
                                                                options.model, options.settings()};
        Model model =
            Model::load(source.file, source.model, source.settings, options.load_options());
        for (const std::string& note : model.notes()) print_error("note: {}\n", note);
        name_classes(model, classes, word);
        files.push_back(source.file);
        std::string name = model.name().empty() ? model.info().name : model.name();
        models.push_back({std::move(name), word, std::move(source), std::move(model)});
    }
    const std::vector<std::string> by_file = unique_names(files);
    std::vector<std::string> own;
    for (const NamedModel& one : models) own.push_back(one.name);
    for (std::size_t i = 0; i < models.size(); ++i)
        if (std::ranges::count(own, own[i]) > 1) models[i].name = by_file[i];
    return models;
}

bool means_weights(const std::string& word) {
    constexpr std::array<std::string_view, 5> kExtensions = {".safetensors", ".pth", ".pt", ".bin",
                                                             ".ckpt"};
    if (word == "official" || word.ends_with("=official")) return true;
    if (fs::is_directory(word))
        return fs::exists(fs::path(word) / "best.safetensors") ||
               fs::exists(fs::path(word) / "last.safetensors");
    return std::ranges::any_of(kExtensions,
                               [&](std::string_view end) { return word.ends_with(end); });
}

CLI::Option* add_several_weights(CLI::App& command, std::vector<std::string>& weights) {
    const OptionGroup group(command, kModelOptions);
    return command
        .add_option("--weights", weights,
                    "Weight file, the folder of a run, or official: the published weights of "
                    "--model (see `cait weights`); of several models: FILE FILE or NAME=FILE")
        ->type_name("FILE");
}

void part_words(std::vector<std::string>& weights, std::vector<std::string>& images) {
    if (weights.empty()) return;
    const auto image = std::find_if_not(weights.begin() + 1, weights.end(), means_weights);
    images.insert(images.begin(), image, weights.end());
    weights.erase(image, weights.end());
}

}  // namespace cait::app
