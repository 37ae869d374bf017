// `cait inspect`: who a model file is, in a few lines; and what convert tells it about itself.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "support/tiny_detector.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Inspect : public InFolder {
protected:
    // A file as training leaves it.
    std::string trained() const {
        Model model = Model::load(data("tiny_cait_zip.pth"), "cait_xxs24_224",
                                  {{"image_size", "16"},
                                   {"patch", "8"},
                                   {"classes", "3"},
                                   {"dim", "16"},
                                   {"depth", "2"},
                                   {"heads", "2"},
                                   {"class_layers", "1"}});
        model.set_name("flowers");
        model.set_classes({"rose", "tulip", "daisy"});
        model.set_training({{"recipe", "[optim]\nlr = 1\n"},
                            {"epochs", "30.00"},
                            {"top1", "0.9125"},
                            {"top5", "1"},
                            {"val_loss", "0.31"},
                            {"val_data", "folder:photos/val"},
                            {"val_images", "80"}});
        model.save(path("best.safetensors"));
        return path("best.safetensors");
    }
};

TEST_F(Inspect, ToldOfDetectorsAreBothStages) {
    const std::string file = path("detector.safetensors");
    test::tiny_detector().save(file);
    const Finished run = cait({"inspect", file});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("head.kind mask_rcnn (preset: none)"),
                               HasSubstr("3: circle, square, star")));
    const auto json = nlohmann::json::parse(cait({"inspect", file, "--json"}).out);
    EXPECT_EQ(json["classes"], 3);
    const Finished graph = cait({"inspect", "--graph", file});
    ASSERT_EQ(graph.status, 0) << graph.err;
    for (const char* text : {"box_regions", "mask_regions", "rpn_head", "anchor_deltas.4"})
        EXPECT_THAT(graph.out, HasSubstr(text));
    EXPECT_EQ(cait({"inspect", "--graph", "--fused", file, "--tap", "mask_logits"}).status, 0);
}

TEST_F(Inspect, BeginsWithWhoTheModelIs) {
    const std::string file = trained();
    const Finished run = cait({"inspect", file});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("flowers"), HasSubstr("cait_xxs24_224"),
                      HasSubstr("classes 3 (preset: 1000)"), HasSubstr("16 x 16 pixels"),
                      HasSubstr("3: rose, tulip, daisy"), HasSubstr("crop ratio 1, centre"),
                      HasSubstr("top-1 91.25 %, top-5 100.00 %, loss 0.31 on folder:photos/val")));
    EXPECT_THAT(run.out, AllOf(HasSubstr("epochs 30.00"), HasSubstr("safetensors"),
                               HasSubstr("float32"), Not(HasSubstr("blocks.0"))));
    EXPECT_THAT(cait({"inspect", file, "--tensors"}).out, HasSubstr("blocks.0.gamma_1 "));
    const auto json = nlohmann::json::parse(cait({"inspect", file, "--json"}).out);
    EXPECT_EQ(json["name"], "flowers");
    EXPECT_EQ(json["model"], "cait_xxs24_224");
    EXPECT_EQ(json["changed"]["depth"], "2");
    EXPECT_EQ(json["image_size"], (std::vector<int>{16, 16}));
    EXPECT_EQ(json["class_names"][2], "daisy");
    EXPECT_EQ(json["training"]["top1"], "0.9125");
    EXPECT_GT(json["tensors"].size(), 10U);
}

TEST_F(Inspect, AFileOfOthersSaysWhatItCan) {
    const Finished run = cait({"inspect", data("tiny_cait_zip.pth")});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("pytorch zip"), HasSubstr("the file does not say")));
    const Finished named = cait(Words{"inspect", data("tiny_cait_zip.pth")} + kTinyCait);
    EXPECT_THAT(named.out, HasSubstr("3, without names"));
    EXPECT_THAT(named.err, HasSubstr("fits cait_xxs24_224"));
}

TEST_F(Inspect, TheFileSaysWhichModelItsGraphIsOf) {
    const Finished run = cait({"inspect", trained(), "--graph"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, cait(Words{"inspect", "--graph"} + kTinyCait).out);
    expect_refused(cait({"inspect", "--graph", data("tiny_cait_zip.pth")}), 2,
                   {"does not say which model"});
}

TEST_F(Inspect, ConvertTakesTheModelFromTheFileAndGivesItAName) {
    const Finished run = cait({"convert", trained(), path("large.safetensors"), "--set",
                               "model.image_size=24", "--name", "flowers at 24"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(cait({"inspect", path("large.safetensors")}).out,
                AllOf(HasSubstr("flowers at 24"), HasSubstr("24 x 24 pixels"), HasSubstr("rose")));
    ASSERT_EQ(cait({"convert", trained(), path("same.safetensors"), "--name", "other"}).status, 0);
    EXPECT_THAT(cait({"inspect", path("same.safetensors")}).out, HasSubstr("other"));
    expect_refused(cait({"convert", data("tiny_cait_zip.pth"), path("x.safetensors"), "--set",
                         "model.image_size=24"}),
                   2, {"does not say which model"});
}

TEST_F(Inspect, ShowsTheFormatOfEachNode) {
    const std::vector<std::string> shown{
        "inspect", "--fused",        "--precision", "int8",
        "--model", "cait_xxs24_224", "--set",       "quantize.keep=blocks.0.*"};
    const Finished run = cait(shown);
    ASSERT_EQ(run.status, 0) << run.err;
    std::size_t whole = 0;
    for (std::size_t at = run.out.find(" int8\n"); at != std::string::npos;
         at = run.out.find(" int8\n", at + 1))
        ++whole;
    EXPECT_EQ(whole, 46U);  // of 24 blocks, all but the first
    const Finished wrong = cait({"inspect", "--fused", "--precision", "int8", "--model",
                                 "cait_xxs24_224", "--set", "quantize.keep=nothing.*"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("'nothing.*', which matches none"));
    EXPECT_EQ(cait({"inspect", "--precision", "int8", "--model", "cait_xxs24_224"}).status, 2);
}

}  // namespace
}  // namespace cait::e2e
