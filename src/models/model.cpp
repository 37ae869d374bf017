// cait/model.h on top of the catalogue, the weight files and the walkers.
#include "cait/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/quantized.h"
#include "base/rename.h"
#include "graph/expected.h"
#include "graph/initialize.h"
#include "models/describe.h"
#include "models/fairseq_file.h"
#include "models/model_cost.h"
#include "models/task.h"
#include "weights/checksum.h"
#include "weights/match.h"
#include "weights/quantized_file.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

// A paper's accuracy is that of its model: another image size or depth has another one.
Reported reported_for(const ModelSpec& spec) {
    return spec.settings() == configure(spec.name).settings() ? spec.preset->reported : Reported{};
}

// A file need not have what the classes of pixels or regions do not depend on: the last norm of a
// trunk, the second head of training. Where it has nothing of the head, the head is rebuilt.
struct OwnExpectation {
    std::vector<ExpectedTensor> tensors;
    std::string fresh_head = {};  // the part that the file does not have
};

// Those of a detector without masks do for one with masks, which then has to learn them.
std::string missing_head(const ModelSpec& spec, const WeightFile& file) {
    const std::vector<Rename> renames = known_renames(spec);
    const auto has = [&](std::string_view part) {
        return std::ranges::any_of(file.tensors, [&](const NamedTensor& tensor) {
            return tensor.name.starts_with(part) ||
                   to_official(tensor.name, renames).starts_with(part);
        });
    };
    if (spec.head.is_dense()) return has("decode_head.") ? "" : "decode_head";
    if (!has("roi_head.bbox_head.")) return "roi_head";
    const bool lacks_masks = spec.head.detection.masks && !has("roi_head.mask_head.");
    return lacks_masks ? "roi_head.mask_head" : "";
}

OwnExpectation expected_of_own(const ModelSpec& spec, const Graph& graph, const WeightFile& file) {
    OwnExpectation result{expected_tensors(graph)};
    const std::set<std::string> read = params_read(graph);
    for (ExpectedTensor& tensor : result.tensors)
        if (!read.contains(tensor.name)) tensor.required = false;
    result.fresh_head = missing_head(spec, file);
    if (result.fresh_head.empty()) return result;
    if (result.fresh_head == "roi_head.mask_head") {
        for (ExpectedTensor& tensor : result.tensors)
            if (tensor.name.starts_with(result.fresh_head + ".")) tensor.required = false;
        return result;
    }
    const std::map<std::string, std::string> own = spec.settings();
    SettingList bare(own.begin(), own.end());
    bare.emplace_back("head.kind", "none");
    std::set<std::string> trunk;
    for (const ParamSpec& param : record(configure(spec.name, bare)).params)
        trunk.insert(param.name);
    for (ExpectedTensor& tensor : result.tensors)
        if (!trunk.contains(tensor.name)) tensor.required = false;
    return result;
}

ModelInfo info_of(const ModelSpec& spec) {
    const Cost cost = model_cost(spec);
    const CommonConfig& common = spec.architecture->common();
    const Reported reported = reported_for(spec);
    return {.name = spec.name,
            .family = spec.family->name,
            .image_height = common.image_size.height,
            .image_width = common.image_size.width,
            .params = cost.params,
            .macs = cost.macs,
            .inference_bytes = cost.inference_bytes,
            .training_bytes = cost.training_bytes,
            .top1 = reported.top1,
            .top1_distilled = reported.top1_distilled,
            .miou = reported.miou,
            .miou_multi = reported.miou_multi,
            .miou_21k = reported.miou_21k,
            .miou_21k_multi = reported.miou_21k_multi,
            .box_ap = reported.box_ap,
            .box_ap50 = reported.box_ap50,
            .box_ap75 = reported.box_ap75,
            .mask_ap = reported.mask_ap,
            .mask_ap50 = reported.mask_ap50,
            .mask_ap75 = reported.mask_ap75};
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

// Made when somebody asks for them: the engine does without.
struct Model::Floats {
    std::once_flag once;
    std::map<std::string, Tensor> tensors;
};

const std::map<std::string, Tensor>& Model::weights() const {
    if (!floats_) return weights_;
    std::call_once(floats_->once, [&] {
        for (const auto& [name, tensor] : weights_)
            if (!is_scale_of_int8(name, weights_))
                floats_->tensors.emplace(name, float_tensor(name, weights_));
    });
    return floats_->tensors;
}

std::vector<std::string> Model::quantized() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights_)
        if (tensor.dtype() == DType::i8) names.push_back(name);
    return names;
}

void Model::set_weights(std::map<std::string, Tensor> weights) {
    weights_ = std::move(weights);
    floats_ = quantized().empty() ? nullptr : std::make_shared<Floats>();
}

Model Model::create(const std::string& name, const SettingList& settings, std::uint64_t seed) {
    Description described = describe(name, settings);
    Model model;
    model.spec_ = std::make_shared<ModelSpec>(std::move(described.spec));
    model.preprocessing_ = described.preprocessing;
    model.weights_ = initialize(record(*model.spec_), seed);
    model.task_ = fitting_task(*model.spec_, {});
    return model;
}

Model Model::load(const std::filesystem::path& path, const std::string& name,
                  const SettingList& settings, const LoadOptions& options) {
    WeightFile file = open_weights(path, {.prefer_ema = options.prefer_ema});
    Model model;
    verify_checksums(file.tensors, file.metadata, path.string());
    Description described = describe(file, path, name, settings);
    model.spec_ = std::make_shared<ModelSpec>(std::move(described.spec));
    const bool translates = takes_text(*model.spec_);
    if (translates) file = from_fairseq(std::move(file), path.string());
    const Graph graph = record(*model.spec_);
    const OwnExpectation expected = model.spec_->head.has_own_classes()
                                        ? expected_of_own(*model.spec_, graph, file)
                                        : OwnExpectation{expected_tensors(graph)};
    Matched matched =
        match_weights(file, path.string(), expected.tensors, known_renames(*model.spec_),
                      {.allow_non_finite = options.allow_non_finite,
                       .may_lack_heads = !described.facts.has_head()});
    if (!expected.fresh_head.empty()) {
        matched.why_fresh = expected.fresh_head + " rebuilt: the file has none";
        matched.fresh.push_back(expected.fresh_head);
        matched.notes.push_back(matched.why_fresh);
    }
    if (!matched.fresh.empty() && !options.allow_fresh_head)
        throw Error(
            fmt::format("{}: the class head would have learned nothing ({}); expected weights with "
                        "a head that fits, or --allow-fresh-head (LoadOptions::allow_fresh_head)",
                        path.string(), matched.why_fresh));
    if (!file.note.empty()) model.notes_.push_back(file.note);
    model.notes_.insert(model.notes_.end(), matched.notes.begin(), matched.notes.end());
    model.fresh_head_ = !matched.fresh.empty();
    for (const ParamSpec& spec : graph.params)
        if (!matched.tensors.contains(spec.name))
            matched.tensors.emplace(spec.name, initialize(spec, options.seed));
    model.set_weights(std::move(matched.tensors));
    if (const auto facts = read_quantized(file, path.string())) model.kept_ = facts->keep;
    model.preprocessing_ = described.preprocessing;
    model.assumed_preprocessing_ = !described.facts.preprocessing && !translates;
    model.name_ = described.facts.name;
    model.training_ = described.facts.training;
    try {
        Task task = fitting_task(*model.spec_, described.facts.task);
        if (std::int64_t(task.colours.size()) != class_count(*model.spec_)) task.colours.clear();
        model.set_task(std::move(task));
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", path.string(), error.what()));
    }
    if (translates) model.text_ = std::move(described.facts.text);
    // A new class head has nothing to do with the old names.
    if (std::int64_t(described.facts.classes.size()) == class_count(*model.spec_))
        model.classes_ = described.facts.classes;
    return model;
}

void Model::save(const std::filesystem::path& path) const {
    write_sealed(path, weights_, metadata());
}

Model Model::with_weights(std::map<std::string, Tensor> weights) const {
    std::size_t count = 0;
    for (const auto& [name, tensor] : weights_) {
        if (is_scale_of_int8(name, weights_)) continue;
        ++count;
        const auto found = weights.find(name);
        if (found == weights.end())
            throw Error(fmt::format("{}: expected a tensor {}", spec_->name, name));
        if (found->second.shape() != tensor.shape())
            throw Error(fmt::format("{}: {}: expected shape {}, found {}", spec_->name, name,
                                    tensor.shape().to_string(), found->second.shape().to_string()));
        if (found->second.dtype() != DType::i8) continue;
        const auto scales = weights.find(scale_name(name));
        if (scales == weights.end())
            throw Error(fmt::format("{}: expected a tensor {}", spec_->name, scale_name(name)));
        if (const auto fault = scale_fault(scales->second, tensor.shape()[0]))
            throw Error(fmt::format("{}: {}: {}", spec_->name, scale_name(name), *fault));
        ++count;
    }
    if (weights.size() != count)
        throw Error(
            fmt::format("{}: expected {} tensors, found {}", spec_->name, count, weights.size()));
    Model model = *this;
    model.set_weights(std::move(weights));
    return model;
}

void Model::set_classes(std::vector<std::string> names) {
    const std::int64_t expected = class_count(*spec_);
    if (!names.empty() && std::int64_t(names.size()) != expected)
        throw Error(fmt::format("{}: expected {} class names, found {}", spec_->name, expected,
                                names.size()));
    classes_ = std::move(names);
}

void Model::set_task(Task task) {
    task_row(task.name);
    if (!(task.threshold >= 0 && task.threshold <= 1))
        throw Error(
            fmt::format("threshold: expected a probability, 0 to 1, found {}", task.threshold));
    const std::int64_t classes = class_count(*spec_);
    if (!task.colours.empty() && std::int64_t(task.colours.size()) != classes)
        throw Error(fmt::format("colours: expected one for each of {} classes, found {}", classes,
                                task.colours.size()));
    task_ = std::move(task);
}

void Model::set_text(TextFacts facts) {
    if (!takes_text(*spec_))
        throw Error(
            fmt::format("{}: expected a model that translates, found one for images", spec_->name));
    check_text_facts(facts, spec_->name);
    text_ = std::move(facts);
}

Model Model::at_size(ImageSize size) const {
    expect_images(*spec_);
    if (spec_->architecture->common().image_size == size) return *this;
    const std::map<std::string, std::string> own = settings();
    SettingList changed(own.begin(), own.end());
    changed.emplace_back("image_size", image_size_text(size));
    Model model = *this;
    model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));
    WeightFile file{.format = "memory", .metadata = metadata(), .tensors = {}, .skipped = {}};
    for (const auto& [name, tensor] : weights_) file.tensors.push_back({name, tensor});
    Matched matched = match_weights(file, spec_->name, expected_tensors(record(*model.spec_)), {},
                                    {.allow_non_finite = true});
    model.set_weights(std::move(matched.tensors));
    return model;
}

std::map<std::string, std::string> Model::metadata() const {
    const std::map<std::string, std::string> all = settings();
    std::map<std::string, std::string> metadata = facts_metadata(
        {.model = spec_->name,
         .name = name_,
         .settings = SettingList(all.begin(), all.end()),
         .classes = classes_,
         .preprocessing = takes_text(*spec_) ? std::optional<Preprocessing>() : preprocessing_,
         .task = task_,
         .text = text_,
         .training = training_});
    if (const std::vector<std::string> names = quantized(); !names.empty())
        metadata[kQuantizedKey] = quantized_metadata({names, kept_});
    metadata["format"] = "pt";  // lets other readers of safetensors open the file
    const Graph graph = record(*spec_);
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
