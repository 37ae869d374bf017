// A backbone without a head, as DINOv2 is published: what gives its features, what refuses it, and
// how it gets a head.
#include <gmock/gmock.h>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "e2e/train_run.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

const Words kTinyBackbone = {"--model", "vit_giant_patch14_reg4_dinov2",
                             "--set",   "model.image_size=16",
                             "--set",   "model.patch=8",
                             "--set",   "model.dim=16",
                             "--set",   "model.depth=2",
                             "--set",   "model.heads=2"};

class Backbone : public TrainRun {
protected:
    const std::string weights_ = data("tiny_dinov2_timm.safetensors");

    void expect_features(const std::string& file) const {
        const Tensor found = read_npy(file);
        const Tensor expected = read_npy(data("tiny_dinov2_features.npy"));
        ASSERT_EQ(found.shape(), expected.shape());
        for (std::size_t i = 0; i < expected.floats().size(); ++i)
            EXPECT_NEAR(found.floats()[i], expected.floats()[i], 1e-5) << i;
    }
};

TEST_F(Backbone, ForwardGivesItsFeatures) {
    const Words words = {"forward",  "--weights",         weights_, "--input", data("images.npy"),
                         "--output", path("features.npy")};
    const Finished run = cait(words + kTinyBackbone);
    ASSERT_EQ(run.status, 0) << run.err;
    expect_features(path("features.npy"));
    expect_refused(cait(words + kTinyBackbone + Words{"--tap", "logits"}), 2,
                   {"expected classes for 'logits', found none", "model.classes"});
}

TEST_F(Backbone, HasNothingToPredict) {
    const std::string photo = path("val/red/0.png");
    expect_refused(cait(Words{"predict", "--weights", weights_, photo} + kTinyBackbone), 2,
                   {"expected classes for 'logits', found none"});
}

TEST_F(Backbone, IsWrittenUnderTimmsNamesAndReadAgain) {
    const Finished run = cait(
        Words{"convert", weights_, path("timm.safetensors"), "--names", "timm"} + kTinyBackbone);
    ASSERT_EQ(run.status, 0) << run.err;
    const TensorFile file = TensorFile::open(path("timm.safetensors"));
    for (const NamedTensor& entry : file.tensors)
        if (entry.name == "pos_embed") {
            EXPECT_EQ(entry.tensor.shape(), (Shape{1, 4, 16}));
        }
    ASSERT_EQ(cait({"forward", "--weights", path("timm.safetensors"), "--input", data("images.npy"),
                    "--output", path("again.npy")})
                  .status,
              0);
    expect_features(path("again.npy"));
}

TEST_F(Backbone, GetsAHeadForTheDataAndLearnsIt) {
    const Finished run = cait(Words{"train",     "small",
                                    "--data",    "folder:" + path("train"),
                                    "--val",     "folder:" + path("val"),
                                    "--out",     path("tuned"),
                                    "--batch",   "8",
                                    "--epochs",  "4",
                                    "--weights", weights_,
                                    "--set",     "train.tune=head",
                                    "--set",     "optim.lr=1e-2",
                                    "--set",     "schedule.warmup=0",
                                    "--set",     "augment.policy=none"} +
                              kTinyBackbone);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("head rebuilt for 3 classes: the file has none"));
    const Model before = Model::load(
        weights_, "vit_giant_patch14_reg4_dinov2",
        {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"}, {"depth", "2"}, {"heads", "2"}});
    const Model after = Model::load(path("tuned/last.safetensors"));
    EXPECT_THAT(after.classes(), testing::ElementsAre("blue", "green", "red"));
    for (const auto& [name, tensor] : before.weights())
        EXPECT_TRUE(std::ranges::equal(tensor.floats(), after.weights().at(name).floats())) << name;
    const Finished predicted =
        cait({"predict", "--weights", path("tuned/last.safetensors"), path("val/red/0.png")});
    ASSERT_EQ(predicted.status, 0) << predicted.err;
}

}  // namespace
}  // namespace cait::e2e
