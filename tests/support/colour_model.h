// A model made by hand whose answers anybody can compute: its features are the mean red, green and
// blue of an image, 0 to 1, and its logits for "red", "green" and "blue" are `scale` times these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "cait/model.h"
#include "image/image.h"

namespace cait::test {

inline Model colour_model(float scale) {
    constexpr std::size_t kPatch = 8, kArea = kPatch * kPatch, kColours = 3;
    Model model = Model::create(
        "resmlp_12_224",
        {{"image_size", "16"}, {"patch", "8"}, {"dim", "3"}, {"depth", "1"}, {"classes", "3"}});
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : model.weights()) {
        Tensor values = Tensor::zeros(DType::f32, tensor.shape());
        if (name.ends_with("alpha")) std::ranges::fill(values.mutable_floats(), 1.0F);
        weights.emplace(name, std::move(values));
    }
    for (std::size_t c = 0; c < kColours; ++c) {
        std::fill_n(
            &weights.at("patch_embed.proj.weight").mutable_floats()[(c * kColours + c) * kArea],
            kArea, 1.0F / kArea);
        weights.at("head.weight").mutable_floats()[c * kColours + c] = scale;
    }
    model = model.with_weights(std::move(weights));
    model.set_classes({"red", "green", "blue"});
    Preprocessing preparation = model.preprocessing();
    preparation.crop_ratio = 1;
    preparation.mean = {0, 0, 0};
    preparation.std = {1, 1, 1};
    model.set_preprocessing(preparation);
    return model;
}

inline Image solid(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
    Image image = Image::blank(16, 16, 3);
    for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
        image.pixels[i] = red;
        image.pixels[i + 1] = green;
        image.pixels[i + 2] = blue;
    }
    return image;
}

}  // namespace cait::test
