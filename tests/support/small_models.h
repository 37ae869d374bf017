// Every preset of the catalogue that classifies images or translates, made small but with the
// choices that tell it from its family.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/philox.h"
#include "graph/id_limits.h"
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

// Those whose models take images. Translators have tests of their own.
inline std::vector<Family> image_families() {
    std::vector<Family> all = families();
    std::erase_if(all, [](const Family& family) { return family.takes_text; });
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
    for (const Family& family : image_families())
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

// Of models for images.
inline std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const Family& family : image_families()) names.push_back(family.name);
    return names;
}

inline const SettingList kSmallTranslator = {
    {"dim", "24"},          {"hidden", "40"},  {"heads", "2"},      {"encoder_depth", "2"},
    {"decoder_depth", "2"}, {"longest", "16"}, {"vocabulary", "30"}};

// Every preset that translates, and choices that no preset has.
inline std::vector<SmallPreset> small_translators() {
    std::vector<SmallPreset> presets;
    const auto add = [&](const std::string& family, const std::string& name,
                         const SettingList& more) {
        SettingList settings = kSmallTranslator;
        settings.insert(settings.end(), more.begin(), more.end());
        presets.push_back({family, name, std::move(settings), ""});
    };
    for (const Family& family : families())
        for (const Preset& preset : family.presets)
            if (family.takes_text) add(family.name, preset.name, {});
    add("translate", "resmlp_translate_small",
        {{"norm", "layernorm"}, {"post_norm", "true"}, {"positions", "sinusoids"}});
    add("translate", "resmlp_translate_small", {{"activation", "relu"}, {"layer_scale", "0"}});
    add("translate", "transformer_small",
        {{"norm", "affine"}, {"post_norm", "false"}, {"layer_scale", "0.2"}});
    add("translate", "transformer_small", {{"post_norm", "false"}, {"activation", "gelu"}});
    return presets;
}

// "resmlp_translate_small_3": the presets have names of their own, their variants numbers.
inline std::string translator_name(std::size_t index, const SmallPreset& preset) {
    return preset.name + "_" + std::to_string(index);
}

// Numbers for every input of a translator's graph: sentences of which each is shorter than the one
// before it, and a step at the last place but one of its state.
inline NamedInputs<Tensor> text_inputs(const Graph& graph, std::int64_t batch) {
    const std::vector<op::Input> takes = graph.inputs();
    const std::vector<std::int64_t> limits = id_limits(graph);
    std::int64_t place = 0;
    for (const op::Input& input : takes)
        if (input.name.starts_with("past") && input.shape.rank() == 4) place = input.shape[2] - 1;
    NamedInputs<Tensor> inputs;
    for (std::size_t i = 0; i < takes.size(); ++i) {
        const std::string& name = takes[i].name;
        Tensor tensor = Tensor::zeros(takes[i].dtype, takes[i].shape.with_batch(batch));
        RandomStream random(7, name);
        const std::int64_t columns = takes[i].shape[1];
        const auto length = [&](std::int64_t row) {
            return std::max<std::int64_t>(1, columns - 3 * row);
        };
        if (name == "place") {
            for (std::int64_t& id : tensor.mutable_integers()) id = place;
        } else if (takes[i].dtype == DType::i64) {
            for (std::int64_t at = 0; at < tensor.count(); ++at) {
                const auto piece =
                    std::int64_t(3 + double(random.uniform()) * double(limits[i] - 3));
                const bool padded = name != "piece" && at % columns >= length(at / columns);
                tensor.mutable_integers()[std::size_t(at)] = padded ? 1 : piece;
            }
        } else if (name.ends_with("_mask")) {
            for (std::int64_t at = 0; at < tensor.count(); ++at) {
                const std::int64_t end = name == "past_mask" ? place : length(at / columns);
                tensor.mutable_floats()[std::size_t(at)] = at % columns < end ? 1.0F : 0.0F;
            }
        } else {  // keys, values and the state, which is zero from the place on
            const Shape& shape = takes[i].shape;
            for (std::int64_t at = 0; at < tensor.count(); ++at) {
                const float value = random.normal();
                const bool kept = shape.rank() != 4 || at / shape[3] % shape[2] < place;
                tensor.mutable_floats()[std::size_t(at)] = kept ? value : 0.0F;
            }
        }
        inputs.emplace(name, std::move(tensor));
    }
    return inputs;
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
