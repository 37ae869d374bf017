// A detector of 64x64 pixels and three classes that finds something in any image, though nothing
// that means anything: for tests of whoever runs, trains or serves one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cait/model.h"

namespace cait::test {

struct TinyDetector {
    bool masks = true;
    bool of_one_size = false;  // a trunk whose positions belong to its 64x64 pixels
    bool torchvision = false;  // convention
    std::uint64_t seed = 1;
};

inline SettingList tiny_detector_settings(const TinyDetector& wanted = {}) {
    SettingList settings{{"image_size", "64"},
                         {"head.kind", "mask_rcnn"},
                         {"head.width", "16"},
                         {"head.hidden", "32"},
                         {"head.classes", "3"},
                         {"head.masks", wanted.masks ? "true" : "false"},
                         {"head.convention", wanted.torchvision ? "torchvision" : "mmdet"}};
    const SettingList trunk =
        wanted.of_one_size
            ? SettingList{{"patch", "16"}, {"dim", "16"}, {"depth", "4"}, {"heads", "2"}}
            : SettingList{{"width", "4"}, {"blocks", "1,1,1,1"}};
    settings.insert(settings.end(), trunk.begin(), trunk.end());
    return settings;
}

inline const char* tiny_detector_preset(const TinyDetector& wanted = {}) {
    return wanted.of_one_size ? "deit_tiny_patch16_224" : "resnet50";
}

// Fresh weights, with the layers that answer made louder: objects get scores that differ, some of
// them high, and boxes that are not their proposals.
inline Model tiny_detector(const TinyDetector& wanted = {}) {
    const Model fresh =
        Model::create(tiny_detector_preset(wanted), tiny_detector_settings(wanted), wanted.seed);
    const std::map<std::string, float> louder = {{"rpn_head.rpn_cls.weight", 30.0F},
                                                 {"rpn_head.rpn_reg.weight", 5.0F},
                                                 {"roi_head.bbox_head.fc_cls.weight", 50.0F},
                                                 {"roi_head.bbox_head.fc_reg.weight", 100.0F}};
    std::map<std::string, Tensor> weights = fresh.weights();
    for (const auto& [name, factor] : louder) {
        const Tensor& before = weights.at(name);
        Tensor after = Tensor::empty(DType::f32, before.shape());
        for (std::size_t i = 0; i < before.floats().size(); ++i)
            after.mutable_floats()[i] = factor * before.floats()[i];
        weights[name] = after;
    }
    // Less background.
    Tensor bias = Tensor::zeros(DType::f32, weights.at("roi_head.bbox_head.fc_cls.bias").shape());
    bias.mutable_floats()[wanted.torchvision ? 0 : bias.floats().size() - 1] = -2;
    weights["roi_head.bbox_head.fc_cls.bias"] = bias;
    Model model = fresh.with_weights(std::move(weights));
    model.set_classes({"circle", "square", "star"});
    return model;
}

}  // namespace cait::test
