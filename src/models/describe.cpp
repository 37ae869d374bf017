#include "models/describe.h"

#include <fmt/format.h>

#include "models/own_settings.h"

namespace cait {

namespace {

Preparer preparer_for(const ModelSpec& spec, const Preprocessing& preprocessing) {
    const CommonConfig& common = spec.architecture->common();
    if (common.channels != 3)
        throw UsageError(fmt::format("{}: expected a model of 3 channels, as images have, found {}",
                                     spec.name, common.channels));
    return Preparer(preprocessing, common.image_size);
}

Preprocessing published_preprocessing(const ModelSpec& spec) {
    Preprocessing preprocessing;
    preprocessing.crop_ratio = spec.preset->preparation.crop_ratio;
    if (spec.preset->preparation.normalisation == Normalisation::half) {
        preprocessing.mean.fill(0.5F);
        preprocessing.std.fill(0.5F);
    }
    return preprocessing;
}

}  // namespace

Preparer Description::preparer() const { return preparer_for(spec, preprocessing); }

Preparer preparer_of(const Model& model) {
    return preparer_for(model.spec(), model.preprocessing());
}

Description describe(const std::string& name, const SettingList& settings) {
    ModelSpec spec = configure(name, settings);
    const Preprocessing preprocessing = published_preprocessing(spec);
    return {std::move(spec), preprocessing, {}};
}

Description describe(const WeightFile& file, const std::filesystem::path& path,
                     const std::string& name, const SettingList& settings) {
    FileFacts facts = read_facts(file.metadata, path.string());
    if (name.empty() && facts.model.empty())
        throw UsageError(fmt::format(
            "{}: the file does not say which model it is; name one with --model", path.string()));
    if (!facts.describe(name)) return describe(name, settings);
    own_model(file, facts, path.string());
    SettingList all = facts.settings;
    all.insert(all.end(), settings.begin(), settings.end());
    Description result = describe(facts.model, all);
    if (facts.preprocessing) result.preprocessing = *facts.preprocessing;
    result.facts = std::move(facts);
    return result;
}

}  // namespace cait
