#include "models/catalogue.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"

namespace cait {

const std::vector<Family>& families() {
    static const std::vector<Family> all = {
        vit_family(),      deit_family(),         deit3_family(),  dinov2_family(),
        cait_family(),     deepvit_family(),      ceit_family(),   volo_family(),
        resmlp_family(),   patchconvnet_family(), resnet_family(), regnet_family(),
        translate_family()};
    return all;
}

void bind_common(Settings& s, CommonConfig& c) {
    s.image_size("image_size", c.image_size, "N or HEIGHTxWIDTH in pixels");
    s.integer("channels", c.channels, 1, "channels of the image");
    s.integer("classes", c.classes, 0, "number of classes; 0: no class head");
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

void check_head(ModelSpec& spec) {
    HeadConfig& head = spec.head;
    if (takes_text(spec) && !head.plain())
        throw_rule("head: expected none, as the model translates");
    if (!head.has_own_classes()) return;
    if (head.predictor > 0)
        throw_rule("head.predictor: expected 0, as the head answers for every {}",
                   head.is_dense() ? "pixel" : "region");
    if (head.kind == HeadKind::upernet) settle_pyramid(head.dense.pyramid, spec.family->maps);
    if (head.is_detector()) check_detection(head.detection, spec.family->maps);
}

}  // namespace

ModelSpec configure(const std::string& name, const SettingList& settings) {
    const auto [family, preset] = find_preset(name);
    ModelSpec spec{name, family, preset, preset->architecture->clone(), preset->head};
    Settings keys, head_keys;
    spec.architecture->bind(keys);
    bind(head_keys, spec.head);
    try {
        for (const auto& [key, value] : settings)
            (key.starts_with(kHeadPrefix) ? head_keys : keys).set(key, value);
        // A class head beside that of pixels or regions is there only where somebody asks for it.
        if (spec.head.has_own_classes() && !preset->head.has_own_classes() &&
            std::ranges::count(settings, "classes", &SettingList::value_type::first) == 0)
            spec.architecture->common().classes = 0;
        check_head(spec);
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
    if (!heads.plain() || !preset->head.plain()) bind_own_keys(keys, heads);
    std::map<std::string, std::string> result;
    for (auto& [key, value] : keys.values()) result.emplace(key, value);
    return result;
}

bool takes_text(const ModelSpec& spec) { return spec.family->takes_text; }

void expect_images(const ModelSpec& spec) {
    if (takes_text(spec))
        throw UsageError(
            fmt::format("{}: expected a model for images, found one that translates text, which "
                        "`cait translate` runs",
                        spec.name));
}

std::int64_t class_count(const ModelSpec& spec) {
    if (spec.head.is_dense()) return spec.head.dense.classes;
    if (spec.head.is_detector()) return spec.head.detection.classes;
    return spec.architecture->common().classes;
}

std::vector<Rename> known_renames(const ModelSpec& spec) {
    std::vector<Rename> rules = spec.architecture->renames();
    // Of mmseg's VisionTransformer and of its ResNetV1c, below "backbone.".
    static const std::vector<Rename> kMmseg = {
        {"patch_embed.proj.**", "patch_embed.projection.**"},
        {"blocks.*.norm1.**", "layers.*.ln1.**"},
        {"blocks.*.norm2.**", "layers.*.ln2.**"},
        {"blocks.*.attn.qkv.weight", "layers.*.attn.attn.in_proj_weight"},
        {"blocks.*.attn.qkv.bias", "layers.*.attn.attn.in_proj_bias"},
        {"blocks.*.attn.proj.**", "layers.*.attn.attn.out_proj.**"},
        {"blocks.*.mlp.fc1.**", "layers.*.ffn.layers.0.0.**"},
        {"blocks.*.mlp.fc2.**", "layers.*.ffn.layers.1.**"},
        {"norm.**", "ln1.**"},
        {"conv1.0.**", "stem.0.**"},
        {"conv1.1.**", "stem.1.**"},
        {"conv1.3.**", "stem.3.**"},
        {"conv1.4.**", "stem.4.**"},
        {"conv1.6.**", "stem.6.**"},
        {"bn1.**", "stem.7.**"}};
    if (spec.head.is_dense()) rules.insert(rules.end(), kMmseg.begin(), kMmseg.end());
    if (spec.head.is_detector() &&
        spec.head.detection.convention == RegionConvention::torchvision) {
        const std::vector<Rename> theirs = torchvision_detection_renames();
        rules.insert(rules.begin(), theirs.begin(), theirs.end());
    }
    return rules;
}

std::vector<std::string> default_taps(const ModelSpec& spec) {
    if (takes_text(spec)) return {"logits"};
    if (spec.head.is_detector()) return proposal_taps();
    if (spec.head.is_dense()) return {"segmentation"};
    return {spec.architecture->common().classes > 0 ? "logits" : "features"};
}

bool is_in_head(const HeadConfig& head, std::string_view param) {
    if (head.is_dense()) return param.starts_with("decode_head.");
    return head.is_detector() && (param.starts_with("rpn_head.") || param.starts_with("roi_head."));
}

bool reads_images(const ModelSpec& spec, std::span<const std::string> taps) {
    if (takes_text(spec)) return false;
    return !spec.head.is_detector() || taps.empty() || !std::ranges::all_of(taps, is_region_tap);
}

namespace {

RecordOptions with_default_tap(const ModelSpec& spec, RecordOptions options) {
    if (options.taps.empty() && spec.head.is_dense()) {
        options.taps = default_taps(spec);
        const bool has_second =
            spec.head.kind == HeadKind::upernet && spec.head.dense.auxiliary >= 0;
        if (options.mode == Mode::train && has_second)
            options.taps.emplace_back("segmentation_auxiliary");
    }
    if (options.taps.empty() && spec.head.is_detector())
        options.taps = detection_taps(spec.head.detection);
    if (spec.architecture->common().classes > 0 || takes_text(spec)) return options;
    for (const std::string& tap : options.taps)
        if (tap.starts_with("logits"))
            throw UsageError(
                fmt::format("{}: expected classes for '{}', found none: the model is a backbone; "
                            "set model.classes to give it a head, or ask for features",
                            spec.name, tap));
    if (options.taps.empty()) options.taps = default_taps(spec);
    return options;
}

constexpr std::string_view kMaps = "map.";

// On top of all maps; what a head does not read is pruned.
void record_on_maps(Builder& b, const ModelSpec& spec, const CommonConfig& common) {
    if (!spec.head.is_dense()) leave_out_dense_head(b);
    if (!spec.head.is_detector()) leave_out_detection_head(b);
    if (!spec.head.has_own_classes()) return leave_out_levels(b);
    const std::vector<Value> maps = b.all_demanded(kMaps);
    if (maps.empty())
        throw UsageError(
            fmt::format("{}: expected a model with feature maps for head.kind upernet, "
                        "linear_map or mask_rcnn, found none",
                        spec.name));
    if (spec.head.is_detector())
        return record_detection(b, spec.head.detection, maps, spec.family->maps, common.image_size);
    if (spec.head.kind == HeadKind::linear_map) return record_linear_map(b, spec.head.dense, maps);
    const std::int64_t patch = common.image_size.height / maps.back().extent(2);
    record_upernet(b, spec.head.dense, maps, spec.family->maps, patch);
}

void record_into(Builder& builder, const Architecture& architecture, const ModelSpec& spec) {
    if (takes_text(spec)) return architecture.record(builder);
    if (spec.head.any()) builder.demand("features");
    if (spec.head.has_own_classes()) builder.demand(kMaps);
    architecture.record(builder);
    record_heads(builder, spec.head);
    record_on_maps(builder, spec, architecture.common());
}

}  // namespace

Graph record(const ModelSpec& spec, const RecordOptions& wanted) {
    const RecordOptions options = with_default_tap(spec, wanted);
    const std::unique_ptr<Architecture> architecture = spec.architecture->clone();
    if (options.image_size) architecture->common().image_size = *options.image_size;
    if (options.drop_path) architecture->common().drop_path = *options.drop_path;
    architecture->check();
    Builder builder(options);
    record_into(builder, *architecture, spec);
    return builder.finish();
}

std::set<std::string> offered_taps(const ModelSpec& spec) {
    Builder builder({});
    record_into(builder, *spec.architecture, spec);
    return builder.offered();
}

}  // namespace cait
