#include "models/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/fairseq_file.h"
#include "models/file_tensors.h"
#include "models/own_settings.h"

namespace cait {

namespace {

Preparer preparer_for(const ModelSpec& spec, const Preprocessing& preprocessing) {
    expect_images(spec);
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

[[noreturn]] void refuse_nameless(const WeightFile& file, const std::string& path) {
    const std::vector<std::string> fitting = fitting_models(file);
    throw UsageError(fmt::format(
        "{}: the file does not say which model it is; name one with --model{}", path,
        fitting.empty() ? std::string()
                        : fmt::format(" (its tensors fit {})", fmt::join(fitting, ", "))));
}

bool has_setting(const SettingList& settings, std::string_view key) {
    return std::ranges::count(settings, key, &SettingList::value_type::first) > 0;
}

// What the file settles before anybody's settings: all of them where it is about this model;
// otherwise the number of its classes, or of its pieces.
SettingList settings_in(const WeightFile& file, const FileFacts& facts, const std::string& path,
                        const std::string& name, const SettingList& settings) {
    if (facts.describe(name)) {
        own_model(file, facts, path);
        return facts.settings;
    }
    const ModelSpec spec = configure(name, settings);
    const char* key = takes_text(spec)              ? "vocabulary"
                      : spec.head.has_own_classes() ? "head.classes"
                                                    : "classes";
    if (has_setting(settings, key)) return {};
    const auto count = takes_text(spec) ? pieces_in(file) : classes_in(file, spec);
    if (!count) return {};
    return {{key, std::to_string(*count)}};
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
    if (name.empty() && facts.model.empty()) refuse_nameless(file, path.string());
    SettingList all = settings_in(file, facts, path.string(), name, settings);
    all.insert(all.end(), settings.begin(), settings.end());
    Description result = describe(name.empty() ? facts.model : name, all);
    if (facts.preprocessing) result.preprocessing = *facts.preprocessing;
    result.facts = std::move(facts);
    return result;
}

}  // namespace cait
