// `cait preprocess`, then `cait forward`: the same as `cait predict`, for a model file with a size,
// a crop and a normalisation of its own. Built only with LibTorch.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cait/image.h"
#include "e2e/tiny_models.h"
#include "image/codec/encode.h"
#include "support/near.h"
#include "unit/image/picture.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class Preprocess : public InFolder {
protected:
    Preprocess() : model_(fine_tuned()) {
        model_.save(path("mine.safetensors"));
        write_image(path("a.png"), cait::test::picture(70, 50, 3));
        write_image(path("b.jpg"), cait::test::picture(41, 90, 3));
    }

    static Model fine_tuned() {
        Model model = Model::create("cait_xxs24_224",
                                    {{"image_size", "24x32"},
                                     {"patch", "8"},
                                     {"dim", "16"},
                                     {"depth", "2"},
                                     {"heads", "2"},
                                     {"classes", "3"},
                                     {"residual_init", "1"}},
                                    5);
        model.set_classes({"cat", "dog", "newt"});
        model.set_preprocessing({.crop_ratio = 0.6,
                                 .crop_mode = "squash",
                                 .interpolation = "bilinear",
                                 .mean = {0.9F, 0.1F, 0.4F},
                                 .std = {0.3F, 0.8F, 0.5F}});
        return model;
    }

    // The .npy that `cait preprocess` makes of both images.
    Tensor preprocess(const Words& more) const {
        const Finished run =
            e2e::cait(Words{"preprocess"} + more +
                      Words{path("a.png"), path("b.jpg"), "--output", path("x.npy")});
        EXPECT_EQ(run.status, 0) << run.err;
        return read_npy(path("x.npy"));
    }
    Words weights() const { return {"--weights", path("mine.safetensors")}; }

    Model model_;
};

TEST_F(Preprocess, ThenForwardIsWhatPredictDoes) {
    preprocess(weights());
    const Finished forward = e2e::cait(
        Words{"forward", "--input", path("x.npy"), "--output", path("y.npy")} + weights());
    ASSERT_EQ(forward.status, 0) << forward.err;
    const Tensor logits = read_npy(path("y.npy"));
    ASSERT_EQ(logits.shape(), (Shape{2, 3}));
    const Finished predict = e2e::cait(
        Words{"predict", path("a.png"), path("b.jpg"), "--json", "--top", "3"} + weights());
    ASSERT_EQ(predict.status, 0) << predict.err;
    const nlohmann::json found = nlohmann::json::parse(predict.out);
    for (std::size_t i = 0; i < 2; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) sum += std::exp(double(logits.floats()[3 * i + k]));
        for (const nlohmann::json& one : found[i]["predictions"]) {
            const auto k = one["index"].get<std::size_t>();
            EXPECT_EQ(one["label"], model_.classes()[k]);
            EXPECT_NEAR(one["score"].get<double>(),
                        std::exp(double(logits.floats()[3 * i + k])) / sum, 1e-6);
        }
    }
}

TEST_F(Preprocess, TakesTheFilesOwnSizeCropAndNormalisation) {
    const Tensor own = preprocess(weights());
    EXPECT_EQ(own.shape(), (Shape{2, 3, 24, 32}));
    const std::vector<std::filesystem::path> files{path("a.png"), path("b.jpg")};
    const Tensor library = prepare_images(model_, files);
    EXPECT_EQ(cait::test::largest_difference(own.floats(), library.floats()), 0);
    // What the catalogue says of the same model is something else.
    const Tensor published = preprocess(
        {"--model", "cait_xxs24_224", "--set", "model.image_size=24x32", "--set", "model.patch=8"});
    EXPECT_GT(cait::test::largest_difference(own.floats(), published.floats()), 0.1);
    // Each option replaces the file's.
    EXPECT_EQ(preprocess(weights() + Words{"--set", "model.image_size=16"}).shape(),
              (Shape{2, 3, 16, 16}));
    for (const Words& option :
         {Words{"--crop-ratio", "1"}, Words{"--crop-mode", "centre"}, Words{"--filter", "bicubic"}})
        EXPECT_GT(
            cait::test::largest_difference(own.floats(), preprocess(weights() + option).floats()),
            0)
            << option.front();
}

TEST_F(Preprocess, AsksForAModelOrAFile) {
    const Words words{"preprocess", path("a.png"), "--output", path("x.npy")};
    expect_refused(e2e::cait(words), 2, {"--weights FILE, --model NAME"});
    expect_refused(e2e::cait(words + weights() + Words{"--crop-ratio", "0"}), 2, {"--crop-ratio"});
    expect_refused(e2e::cait(words + Words{"--weights", data("tiny_cait_zip.pth")}), 2,
                   {"does not say which model"});
    expect_refused(
        e2e::cait(words + Words{"--model", "cait_xxs24_224", "--set", "model.channels=1"}), 2,
        {"3 channels"});
}

}  // namespace
}  // namespace cait::e2e
