// What the rest of the program knows of a model: its settings, its rules, and how to record it.
// A family is a plain struct with functions found by name: bind, check, record and, where others
// name the parameters differently, renames.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rename.h"
#include "graph/builder.h"
#include "models/projection_head.h"
#include "models/settings.h"

namespace cait {

// The rate of stochastic depth: the same in every block, or growing from 0 in the first one to the
// full rate in the last.
enum class DropPathRule { constant, linear };

// Keys that every family has.
struct CommonConfig {
    ImageSize image_size;
    std::int64_t channels = 3;
    std::int64_t classes = 1000;  // 0: a backbone without a class head
    double drop_path = 0;
    DropPathRule drop_path_rule = DropPathRule::linear;
    std::int64_t classifier_hidden = 0;  // HeadConfig::classifier: configure() sets both
};
void bind_common(Settings& settings, CommonConfig& config);

// The rate in block `index` of `depth`.
double block_drop_path(const CommonConfig& config, std::int64_t index, std::int64_t depth);

class Architecture {
public:
    virtual ~Architecture() = default;
    virtual std::unique_ptr<Architecture> clone() const = 0;
    virtual CommonConfig& common() = 0;
    virtual void bind(Settings& settings) = 0;
    // Throws UsageError with the rule that the configuration breaks.
    virtual void check() const = 0;
    virtual void record(Builder& builder) const = 0;
    // Other people's parameter names; files with either naming load.
    virtual std::vector<Rename> renames() const = 0;

    const CommonConfig& common() const { return const_cast<Architecture*>(this)->common(); }
};

// Unqualified calls, so that the functions beside the configuration struct are found.
namespace family {
template <class Config>
void call_bind(Settings& settings, Config& config) {
    bind(settings, config);
}
template <class Config>
void call_check(const Config& config) {
    check(config);
}
template <class Config>
void call_record(Builder& builder, const Config& config) {
    record(builder, config);
}
template <class Config>
std::vector<Rename> call_renames(const Config& config) {
    if constexpr (requires { renames(config); })
        return renames(config);
    else
        return {};
}
}  // namespace family

// Wraps a family's configuration struct.
template <class Config>
class ArchitectureOf final : public Architecture {
public:
    explicit ArchitectureOf(Config config) : config_(std::move(config)) {}
    std::unique_ptr<Architecture> clone() const override {
        return std::make_unique<ArchitectureOf>(*this);
    }
    using Architecture::common;
    CommonConfig& common() override { return config_; }
    void bind(Settings& settings) override { family::call_bind(settings, config_); }
    void check() const override { family::call_check(config_); }
    void record(Builder& builder) const override { family::call_record(builder, config_); }
    std::vector<Rename> renames() const override { return family::call_renames(config_); }

private:
    Config config_;
};

// What the papers report for a model: top-1 accuracies on ImageNet; of a head for every pixel, the
// mean IoU on ADE20k; of one that finds objects, average precision on COCO.
struct Reported {
    std::optional<double> top1;             // trained on labels alone
    std::optional<double> top1_distilled;   // with a convnet teacher
    std::optional<double> miou = {};        // at one scale
    std::optional<double> miou_multi = {};  // at several scales, mirrored as well
    // The same for a trunk that was trained on ImageNet-21k first.
    std::optional<double> miou_21k = {};
    std::optional<double> miou_21k_multi = {};
    // On COCO, of one that finds objects: average precision of boxes and masks, also from an
    // overlap of 0.5 and of 0.75 on.
    std::optional<double> box_ap = {}, box_ap50 = {}, box_ap75 = {};
    std::optional<double> mask_ap = {}, mask_ap50 = {}, mask_ap75 = {};
};

// What is subtracted from the channels, and what they are divided by.
enum class Normalisation { imagenet, half };  // the data set's statistics, or 0.5 and 0.5

// How images are prepared for the published weights.
struct Preparation {
    double crop_ratio = 0.875;
    Normalisation normalisation = Normalisation::imagenet;
};

struct Preset {
    std::string name;
    std::shared_ptr<const Architecture> architecture;
    Reported reported;
    Preparation preparation;
    HeadConfig head = {};  // what stands on the trunk beside its classifier
};

struct Family {
    std::string name;
    std::string summary;
    std::string paper;
    std::vector<Preset> presets;
    std::string alias = "timm";  // whose names renames() has; where it has none, theirs are ours
    MapsOf maps = MapsOf::blocks;
    bool takes_text = false;  // sentences, and no images
};

template <class Config>
Preset preset(std::string name, const Config& config, Reported reported, double crop_ratio,
              Normalisation normalisation = Normalisation::imagenet) {
    return {std::move(name),
            std::make_shared<ArchitectureOf<Config>>(config),
            reported,
            {crop_ratio, normalisation},
            {}};
}

// A preset for every pixel's class of ADE20k's 150, by UPerNet of this width.
template <class Config>
Preset upernet_preset(std::string name, const Config& config, std::int64_t width,
                      Reported reported) {
    Preset result = preset(std::move(name), config, reported, 1.0);
    result.head.kind = HeadKind::upernet;
    result.head.dense.width = width;
    return result;
}

// A preset for the objects of COCO's 80 classes, by Mask R-CNN.
template <class Config>
Preset mask_rcnn_preset(std::string name, Config config, Reported reported) {
    config.classes = 0;
    Preset result = preset(std::move(name), config, reported, 1.0);
    result.head.kind = HeadKind::mask_rcnn;
    return result;
}

}  // namespace cait
