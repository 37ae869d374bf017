#include "models/catalogue.h"

#include <fmt/ranges.h>

#include "base/suggest.h"

namespace cait {

const std::vector<Family>& families() {
    static const std::vector<Family> all = {
        vit_family(),    deit_family(),         deit3_family(),  dinov2_family(),
        cait_family(),   deepvit_family(),      ceit_family(),   volo_family(),
        resmlp_family(), patchconvnet_family(), resnet_family(), regnet_family()};
    return all;
}

void bind_common(Settings& s, CommonConfig& c, std::int64_t least_classes) {
    s.image_size("image_size", c.image_size, "N or HEIGHTxWIDTH in pixels");
    s.integer("channels", c.channels, 1, "channels of the image");
    s.integer("classes", c.classes, least_classes,
              least_classes == 0 ? "number of classes; 0: no head" : "number of classes");
    s.number("drop_path", c.drop_path, 0, 0.999, "stochastic depth rate in training");
    s.choice("drop_path_rule", c.drop_path_rule,
             {{"constant", DropPathRule::constant}, {"linear", DropPathRule::linear}},
             "that rate in every block, or growing from 0 in the first to it in the last");
    s.read_if(
        {"drop_path_rule"}, [&c] { return c.drop_path > 0; }, "model.drop_path above 0");
}

double block_drop_path(const CommonConfig& config, std::int64_t index, std::int64_t depth) {
    if (config.drop_path_rule == DropPathRule::constant) return config.drop_path;
    return depth > 1 ? config.drop_path * double(index) / double(depth - 1) : 0;
}

void bind_transformer(Settings& s, std::int64_t& patch, std::int64_t& dim, std::int64_t& depth,
                      std::int64_t& heads, double& mlp_ratio) {
    s.integer("patch", patch, 1, "side of a patch in pixels");
    s.integer("dim", dim, 1, "width of a token");
    s.integer("depth", depth, 1, "number of blocks");
    s.integer("heads", heads, 1, "attention heads; must divide dim");
    s.number("mlp_ratio", mlp_ratio, 0.01, 64, "hidden width of the MLP over dim");
}

namespace {

std::pair<const Family*, const Preset*> find_preset(const std::string& name) {
    std::vector<std::string> names;
    for (const Family& family : families())
        for (const Preset& preset : family.presets) {
            if (preset.name == name) return {&family, &preset};
            names.push_back(preset.name);
        }
    throw UsageError(fmt::format("unknown model '{}'; nearest: {}", name,
                                 fmt::join(nearest_names(name, names), ", ")));
}

}  // namespace

ModelSpec configure(const std::string& name, const SettingList& settings) {
    const auto [family, preset] = find_preset(name);
    ModelSpec spec{name, family, preset, preset->architecture->clone()};
    Settings keys, head_keys;
    spec.architecture->bind(keys);
    bind(head_keys, spec.head);
    try {
        for (const auto& [key, value] : settings)
            (key.starts_with(kHeadPrefix) ? head_keys : keys).set(key, value);
        spec.architecture->common().classifier_hidden = spec.head.classifier;
        spec.architecture->check();
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: {}", name, error.what()));
    }
    return spec;
}

std::map<std::string, std::string> ModelSpec::settings() const {
    Settings keys;
    architecture->bind(keys);
    HeadConfig heads = head;
    if (!heads.plain()) bind(keys, heads);
    std::map<std::string, std::string> result;
    for (auto& [key, value] : keys.values()) result.emplace(key, value);
    return result;
}

std::string default_tap(const ModelSpec& spec) {
    return spec.architecture->common().classes > 0 ? "logits" : "features";
}

namespace {

RecordOptions with_default_tap(const ModelSpec& spec, RecordOptions options) {
    if (spec.architecture->common().classes > 0) return options;
    for (const std::string& tap : options.taps)
        if (tap.starts_with("logits"))
            throw UsageError(
                fmt::format("{}: expected classes for '{}', found none: the model is a backbone; "
                            "set model.classes to give it a head, or ask for features",
                            spec.name, tap));
    if (options.taps.empty()) options.taps = {default_tap(spec)};
    return options;
}

void record_into(Builder& builder, const Architecture& architecture, const HeadConfig& head) {
    if (head.any()) builder.demand("features");
    architecture.record(builder);
    record_heads(builder, head);
}

}  // namespace

Graph record(const ModelSpec& spec, const RecordOptions& wanted) {
    const RecordOptions options = with_default_tap(spec, wanted);
    const std::unique_ptr<Architecture> architecture = spec.architecture->clone();
    if (options.image_size) architecture->common().image_size = *options.image_size;
    if (options.drop_path) architecture->common().drop_path = *options.drop_path;
    architecture->check();
    Builder builder(options);
    record_into(builder, *architecture, spec.head);
    return builder.finish();
}

std::set<std::string> offered_taps(const ModelSpec& spec) {
    Builder builder({});
    record_into(builder, *spec.architecture, spec.head);
    return builder.offered();
}

}  // namespace cait
