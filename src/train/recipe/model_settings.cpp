#include "train/recipe/model_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "models/catalogue.h"

namespace cait {

namespace {

bool has_key(const Settings& keys, const std::string& name) {
    return std::ranges::find(keys.keys(), name, &Settings::Key::name) != keys.keys().end();
}

bool some_family_has(const std::string& key) {
    return std::ranges::any_of(families(), [&](const Family& family) {
        const auto architecture = family.presets.front().architecture->clone();
        Settings keys;
        architecture->bind(keys);
        return has_key(keys, key);
    });
}

}  // namespace

void check_model(const std::string& name, const SettingList& settings) {
    configure(name, settings);
}

SettingList model_settings(const std::string& name, const SettingList& settings) {
    const ModelSpec spec = configure(name, settings);
    Settings keys;
    spec.architecture->bind(keys);
    return keys.values();
}

std::vector<SettingFacts> model_setting_facts(const std::string& name,
                                              const SettingList& settings) {
    try {
        return setting_facts(configure(name, settings));
    } catch (const UsageError&) {
        return {};
    }
}

std::string first_model(const std::string& start) {
    for (const Family& family : families())
        for (const Preset& preset : family.presets)
            if (!start.empty() && preset.name.starts_with(start)) return preset.name;
    throw UsageError(fmt::format(
        "expected how the name of a model starts (`cait models` lists them), found '{}'",
        printable(start)));
}

ImageSize model_image_size(const std::string& name, const SettingList& settings) {
    return configure(name, settings).architecture->common().image_size;
}

bool has_fixed_size(const std::string& name, const SettingList& settings) {
    return std::ranges::any_of(record(configure(name, settings)).params, [](const ParamSpec& spec) {
        return spec.role.kind == ParamRole::Kind::patch_mixing;
    });
}

bool accepts_setting(const std::string& name, const std::string& key, const std::string& value) {
    const ModelSpec spec = configure(name);
    Settings keys;
    spec.architecture->bind(keys);
    if (!has_key(keys, key)) return some_family_has(key);
    keys.set(key, value);
    return true;
}

}  // namespace cait
