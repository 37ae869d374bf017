// The tiny models of tests/e2e/data as words for the command line, and one to be saved.
#pragma once

#include <cstdint>
#include <cstring>

#include "cait/model.h"
#include "e2e/command.h"

namespace cait::e2e {

using Words = std::vector<std::string>;

inline const Words kTinyCait = {"--model", "cait_xxs24_224", "--set", "model.image_size=16",
                                "--set",   "model.patch=8",  "--set", "model.classes=3",
                                "--set",   "model.dim=16",   "--set", "model.depth=2",
                                "--set",   "model.heads=2",  "--set", "model.class_layers=1"};
inline const Words kTinyDeit3 = {"--model", "deit3_small_patch16_224",
                                 "--set",   "model.image_size=16",
                                 "--set",   "model.patch=8",
                                 "--set",   "model.classes=3",
                                 "--set",   "model.dim=16",
                                 "--set",   "model.depth=2",
                                 "--set",   "model.heads=2"};

// A model of the same size with fresh weights. LayerScale starts at `residual_init`: with that of
// the preset all images look alike to such a model.
inline Model tiny_cait(const std::string& residual_init = "1e-5") {
    return Model::create("cait_xxs24_224", {{"image_size", "16"},
                                            {"patch", "8"},
                                            {"dim", "16"},
                                            {"depth", "2"},
                                            {"heads", "2"},
                                            {"class_layers", "1"},
                                            {"residual_init", residual_init},
                                            {"classes", "3"}});
}

// An image of such a model, of plus or minus `value`, whose signs are those of the weights that
// make the first channel of a patch: the sums overflow where `value` is near the largest float.
inline std::vector<float> one_sided_image(const Model& model, float value) {
    const Tensor weights = model.weights().at("patch_embed.proj.weight");  // [D, 3, 8, 8]
    std::vector<float> image(std::size_t{3} * 16 * 16);
    for (std::size_t i = 0; i < image.size(); ++i) {
        const std::size_t c = i / 256, y = i / 16 % 8, x = i % 8;
        image[i] = weights.floats()[c * 64 + y * 8 + x] < 0 ? -value : value;
    }
    return image;
}

// A safetensors file with another text in place of `mark` in its header, as our writer would not
// write it.
inline std::string with_text(std::string file, const std::string& mark, const std::string& text) {
    const std::size_t at = file.find(mark);
    EXPECT_LT(at, file.size());
    file.replace(at, mark.size(), text);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    length += text.size() - mark.size();
    std::memcpy(file.data(), &length, sizeof length);
    return file;
}

inline Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace cait::e2e
