// cait/model.h on top of the catalogue, the weight files and the walkers.
#include "cait/model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cost/cost.h"
#include "declare/expected.h"
#include "declare/initialize.h"
#include "models/catalogue.h"
#include "weights/match.h"
#include "weights/safetensors.h"
#include "weights/weight_file.h"

namespace cait {

namespace {

// Keys of a model file's metadata.
constexpr const char* kModelKey = "cait.model";
constexpr const char* kSettingsKey = "cait.settings";

ModelInfo info_of(const ModelSpec& spec) {
    const Cost cost = estimate_cost(record(spec));
    const CommonConfig& common = spec.architecture->common();
    return {.name = spec.name,
            .family = spec.family->name,
            .image_height = common.image_size.height,
            .image_width = common.image_size.width,
            .params = cost.params,
            .macs = cost.macs,
            .inference_bytes = cost.inference_bytes,
            .training_bytes = cost.training_bytes,
            .top1 = spec.preset->reported.top1,
            .top1_distilled = spec.preset->reported.top1_distilled};
}

// The file's own settings first, so that the caller's win.
SettingList stored_settings(const WeightFile& file, const std::string& path) {
    SettingList settings;
    const auto found = file.metadata.find(kSettingsKey);
    if (found == file.metadata.end()) return settings;
    const auto json = nlohmann::json::parse(found->second, nullptr, false);
    if (!json.is_object())
        throw Error(fmt::format("{}: metadata '{}': expected a JSON object", path, kSettingsKey));
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string())
            throw Error(fmt::format("{}: metadata '{}': expected a string for '{}'", path,
                                    kSettingsKey, key));
        settings.emplace_back(key, value.get<std::string>());
    }
    return settings;
}

ModelSpec spec_for(const WeightFile& file, const std::string& path, const std::string& name,
                   const SettingList& settings) {
    const auto stored = file.metadata.find(kModelKey);
    const bool has_stored = stored != file.metadata.end();
    if (name.empty() && !has_stored)
        throw UsageError(fmt::format(
            "{}: the file does not say which model it is; name one with --model", path));
    // A file's settings belong to the model that it was saved from.
    if (!has_stored || (!name.empty() && name != stored->second)) return configure(name, settings);
    SettingList all = stored_settings(file, path);
    try {
        configure(stored->second, all);
    } catch (const UsageError& error) {  // the file's mistake, not the caller's
        throw Error(fmt::format("{}: metadata: {}", path, error.what()));
    }
    all.insert(all.end(), settings.begin(), settings.end());
    return configure(stored->second, all);
}

}  // namespace

std::vector<ModelInfo> list_models(const std::vector<std::string>& filters,
                                   const SettingList& settings) {
    std::vector<std::string> names;
    for (const Family& family : families())
        for (const Preset& preset : family.presets) names.push_back(preset.name);

    std::set<std::string> chosen(names.begin(), names.end());
    if (!filters.empty()) chosen.clear();
    for (const std::string& filter : filters) {
        bool any = false;
        for (const std::string& name : names) {
            if (name.find(filter) == std::string::npos) continue;
            chosen.insert(name);
            any = true;
        }
        if (!any) configure(filter);  // throws with the nearest names
    }
    std::vector<ModelInfo> models;
    for (const std::string& name : names)
        if (chosen.contains(name)) models.push_back(info_of(configure(name, settings)));
    return models;
}

Model Model::create(const std::string& name, const SettingList& settings, std::uint64_t seed) {
    Model model;
    model.spec_ = std::make_shared<ModelSpec>(configure(name, settings));
    model.weights_ = initialize(record(*model.spec_), seed);
    return model;
}

Model Model::load(const std::filesystem::path& path, const std::string& name,
                  const SettingList& settings, const LoadOptions& options) {
    const WeightFile file = open_weights(path, {.prefer_ema = options.prefer_ema});
    Model model;
    model.spec_ = std::make_shared<ModelSpec>(spec_for(file, path.string(), name, settings));
    const Graph graph = record(*model.spec_);
    Matched matched = match_weights(file, path.string(), expected_tensors(graph),
                                    model.spec_->architecture->renames(),
                                    {.allow_non_finite = options.allow_non_finite});
    model.weights_ = std::move(matched.tensors);
    model.notes_ = std::move(matched.notes);
    for (const ParamSpec& spec : graph.params)
        if (!model.weights_.contains(spec.name))
            model.weights_.emplace(spec.name, initialize(spec, options.seed));
    return model;
}

void Model::save(const std::filesystem::path& path) const {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : weights_) tensors.push_back({name, tensor});
    write_safetensors(path, tensors, metadata());
}

std::map<std::string, std::string> Model::metadata() const {
    const Graph graph = record(*spec_);
    std::map<std::string, std::string> metadata;
    metadata["format"] = "pt";  // lets other readers of safetensors open the file
    metadata[kModelKey] = spec_->name;
    metadata[kSettingsKey] = nlohmann::json(settings()).dump();
    const Preparation& preparation = spec_->preset->preparation;
    const bool half = preparation.normalisation == Normalisation::half;
    using Values = std::vector<double>;
    metadata["cait.preprocess"] =
        nlohmann::json{{"crop_ratio", preparation.crop_ratio},
                       {"interpolation", "bicubic"},
                       {"mean", half ? Values(3, 0.5) : Values{0.485, 0.456, 0.406}},
                       {"std", half ? Values(3, 0.5) : Values{0.229, 0.224, 0.225}}}
            .dump();
    for (const ParamSpec& spec : graph.params)
        if (spec.role.kind == ParamRole::Kind::position ||
            spec.role.kind == ParamRole::Kind::patch_mixing)
            metadata["cait.image_grid"] =
                fmt::format("{}x{}", spec.role.grid_height, spec.role.grid_width);
    return metadata;
}

ModelInfo Model::info() const { return info_of(*spec_); }

std::map<std::string, std::string> Model::settings() const { return spec_->settings(); }

}  // namespace cait
