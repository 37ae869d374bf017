// A model made by hand whose classes look at different places: PatchConvNet with a token for each
// class, of which "red" looks at red patches, "blue" at blue ones, and "grey" at all alike.
// Whatever the image, red is its first answer, blue its second and grey its third.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "cait/model.h"
#include "image/image.h"

namespace cait::test {

inline Model looking_model() {
    constexpr std::size_t kDim = 8, kPatch = 4;
    Model model = Model::create("patchconvnet_s60_multi", {{"image_size", "16"},
                                                           {"patch", "4"},
                                                           {"stem", "linear"},
                                                           {"dim", "8"},
                                                           {"depth", "1"},
                                                           {"classes", "3"}});
    std::map<std::string, Tensor> weights;
    for (const auto& [name, tensor] : model.weights()) {
        Tensor zeros = Tensor::empty(DType::f32, tensor.shape());
        std::ranges::fill(zeros.mutable_floats(), 0.0F);
        weights.emplace(name, std::move(zeros));
    }
    const auto values = [&](const char* name) { return weights.at(name).mutable_floats(); };
    // A patch is its mean red and its mean blue.
    constexpr std::size_t kArea = kPatch * kPatch, kRed = 0, kBlue = 2;
    for (std::size_t i = 0; i < kArea; ++i) {
        values("patch_embed.proj.weight")[kRed * kArea + i] = 1.0F / kArea;
        values("patch_embed.proj.weight")[3 * kArea + kBlue * kArea + i] = 1.0F / kArea;
    }
    values("cls_token")[1 * kDim + 1] = 1;  // blue
    values("cls_token")[2 * kDim + 0] = 1;  // red
    std::ranges::fill(values("blocks_token_only.0.norm1.weight"), 1.0F);
    for (std::size_t i = 0; i < kDim; ++i) {
        values("blocks_token_only.0.attn.q.weight")[i * kDim + i] = 10;
        values("blocks_token_only.0.attn.k.weight")[i * kDim + i] = 1;
    }
    values("head.1.bias")[0] = 1;
    values("head.2.bias")[0] = 2;
    model = model.with_weights(std::move(weights));
    model.set_classes({"grey", "blue", "red"});
    return model;
}

// Red on the left, blue on the right.
inline Image red_and_blue(std::int64_t side) {
    Image image = Image::blank(side, side, 3);
    for (std::int64_t y = 0; y < side; ++y)
        for (std::int64_t x = 0; x < side; ++x) image.row(y)[3 * x + (x < side / 2 ? 0 : 2)] = 255;
    return image;
}

}  // namespace cait::test
