// Every preset of the catalogue that classifies images, made small but with the choices that tell
// it from its family.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/philox.h"
#include "graph/initialize.h"
#include "models/catalogue.h"

namespace cait::test {

inline const SettingList kSmall = {{"image_size", "16"}, {"patch", "8"}, {"dim", "24"},
                                   {"depth", "2"},       {"heads", "2"}, {"classes", "5"}};

// As many talking heads as CaiT XXS, XS, S and M have, on enough patches to fill a register.
inline std::vector<SettingList> talking_heads() {
    std::vector<SettingList> all;
    for (const char* heads : {"4", "6", "8", "16"})
        all.push_back({{"heads", heads}, {"dim", "48"}, {"image_size", "40"}});
    return all;
}

struct SmallPreset {
    std::string family;
    std::string name;
    SettingList settings;
    std::string other_size;  // of the image, one that it can have as well
};

inline std::vector<SmallPreset> small_presets() {
    const SettingList for_convnets = {{"image_size", "64"}, {"classes", "5"}};
    const std::map<std::string, SettingList> shrink = {
        {"volo",
         {{"image_size", "32"},
          {"layers", "1,1,1,1"},
          {"dims", "8,16,16,16"},
          {"heads", "2,4,2,4"},
          {"stem", "6"},
          {"classes", "5"}}},
        {"resnet", {{"width", "4"}, {"blocks", "1,2,1,1"}}},
        {"regnet",
         {{"stem", "8"}, {"widths", "8,16,16,24"}, {"depths", "1,2,1,1"}, {"group", "8"}}},
        {"deepvit", {{"plain_blocks", "1"}}},
    };
    std::vector<SmallPreset> presets;
    for (const Family& family : families())
        for (const Preset& preset : family.presets) {
            if (preset.head.has_own_classes()) continue;  // these need more than two patches
            SmallPreset small{family.name, preset.name, {}, "24x32"};
            const auto found = shrink.find(family.name);
            if (found != shrink.end()) small.settings = found->second;
            if (preset.name.starts_with("resnext"))  // a channel at least in each of 32 groups
                small.settings.front().second = "16";
            SettingList rest = kSmall;
            if (family.name == "volo") {
                small.other_size = "48x32";
                rest.clear();
            } else if (family.name == "resnet" || family.name == "regnet") {
                small.other_size = "72x96";
                rest = for_convnets;
            } else if (family.name == "resmlp") {
                std::erase_if(rest, [](const auto& setting) { return setting.first == "heads"; });
            }
            small.settings.insert(small.settings.begin(), rest.begin(), rest.end());
            presets.push_back(std::move(small));
        }
    return presets;
}

// Those of a family that still differ in more than their rate of stochastic depth.
inline std::vector<SmallPreset> distinct_small_presets(const std::string& family) {
    std::vector<SmallPreset> distinct;
    std::set<std::map<std::string, std::string>> seen;
    for (const SmallPreset& preset : small_presets()) {
        if (preset.family != family) continue;
        std::map<std::string, std::string> settings =
            configure(preset.name, preset.settings).settings();
        settings.erase("drop_path");
        if (seen.insert(settings).second) distinct.push_back(preset);
    }
    return distinct;
}

inline std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const Family& family : families()) names.push_back(family.name);
    return names;
}

// Fresh weights moved off their start, so that no branch is switched off by a zero.
inline WeightMap lively_weights(const Graph& graph) {
    WeightMap weights;
    for (const ParamSpec& spec : graph.params) {
        Tensor weight = initialize(spec, 1);
        RandomStream random(2, spec.name);
        for (float& value : weight.mutable_floats()) value += 0.1F * random.normal();
        weights.emplace(spec.name, std::move(weight));
    }
    return weights;
}

inline Tensor random_images(const ModelSpec& spec, std::int64_t batch) {
    const CommonConfig& common = spec.architecture->common();
    Tensor images = Tensor::empty(
        DType::f32, {batch, common.channels, common.image_size.height, common.image_size.width});
    RandomStream random(3, "images");
    for (float& value : images.mutable_floats()) value = random.normal();
    return images;
}

// Those of a list that a model offers.
inline std::vector<std::string> offered_taps(const ModelSpec& spec,
                                             const std::vector<std::string>& candidates) {
    std::vector<std::string> taps = candidates;
    const std::set<std::string> all = offered_taps(spec);
    std::erase_if(taps, [&](const std::string& tap) { return !all.contains(tap); });
    return taps;
}

// One of each kind: what a pass must leave as it is.
inline std::vector<std::string> taps_of_every_kind(const ModelSpec& spec) {
    return offered_taps(
        spec, {"logits", "features", "tokens", "residual_ratio.0", "residual_ratio.1",
               "self_attention.0", "self_attention.1", "class_attention.0", "class_tokens.0",
               "class_tokens.1", "layer_attention"});
}

}  // namespace cait::test
