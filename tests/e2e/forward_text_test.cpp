// Models that translate in the commands that look at models: `cait forward` with several inputs,
// models, inspect and convert; and the commands for images, which refuse them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "support/near.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ForwardText : public InFolder {
protected:
    ForwardText() {
        Model model = Model::create("resmlp_translate_small", {{"dim", "16"},
                                                               {"hidden", "24"},
                                                               {"heads", "2"},
                                                               {"encoder_depth", "1"},
                                                               {"decoder_depth", "1"},
                                                               {"longest", "16"},
                                                               {"vocabulary", "30"}});
        model.set_text({"en", "de", "words", "a vocabulary"});
        model.save(path("t.safetensors"));
        write_npy(path("source.npy"), Tensor::of({3, 4}, std::vector<std::int64_t>{
                                                             5, 6, 7, 2, 8, 9, 2, 1, 10, 2, 1, 1}));
        write_npy(path("mask.npy"),
                  Tensor::of({3, 4}, std::vector<float>{1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0}));
        write_npy(path("target.npy"),
                  Tensor::of({3, 2}, std::vector<std::int64_t>{2, 11, 2, 12, 2, 13}));
    }

    Words inputs(const std::string& target = "target=") const {
        return {"--input", "source=" + path("source.npy"),
                "--input", "source_mask=" + path("mask.npy"),
                "--input", target + path("target.npy")};
    }
    Words forward(const std::string& output) const {
        return Words{"forward", "--weights", path("t.safetensors"), "--output", path(output)};
    }
};

TEST_F(ForwardText, TakesOneFileForEachInput) {
    const Finished run = cait(forward("y.npy") + inputs());
    ASSERT_EQ(run.status, 0) << run.err;
    const Tensor logits = read_npy(path("y.npy"));
    EXPECT_EQ(logits.shape(), (Shape{3, 2, 30}));
    // Rows of all inputs go together, however many at a time.
    ASSERT_EQ(cait(forward("two.npy") + inputs() + Words{"--batch", "2"}).status, 0);
    test::expect_within(read_npy(path("two.npy")), logits, 1e-6, "batches of two");
    ASSERT_EQ(cait(forward("e.npy") + Words{"--tap", "encoded"} + inputs()).status, 0);
    EXPECT_EQ(read_npy(path("e.npy")).shape(), (Shape{3, 4, 16}));
}

TEST_F(ForwardText, SaysWhatIsWrongWithItsInputs) {
    expect_refused(cait(forward("y.npy") + inputs("source=")), 2, {"source=", "found it twice"});
    expect_refused(cait(forward("y.npy") + inputs("")), 2, {"NAME=FILE for each of several"});
    expect_refused(cait(forward("y.npy") + inputs("pieces=")), 2, {"unknown tap 'logits'"});
    expect_refused(cait(forward("y.npy") + Words{"--input", path("mask.npy")}), 1,
                   {"expected pieces of sentences"});
    write_npy(path("target.npy"), Tensor::of({2, 2}, std::vector<std::int64_t>{2, 11, 2, 12}));
    expect_refused(cait(forward("y.npy") + inputs()), 1, {"target", "rows", "found 2"});
    write_npy(path("target.npy"),
              Tensor::of({3, 2}, std::vector<std::int64_t>{2, 11, 2, 30, 2, 13}));
    expect_refused(cait(forward("y.npy") + inputs()), 1, {"target[1, 1]", "found 30"});
    write_npy(path("target.npy"), Tensor::of({3, 2}, std::vector<float>{2, 11, 2, 12, 2, 13}));
    expect_refused(cait(forward("y.npy") + inputs()), 1, {"expected int64 target"});
    write_npy(path("target.npy"), Tensor::zeros(DType::i64, {3, 17}));
    expect_refused(cait(forward("y.npy") + inputs()), 1,
                   {"pieces of a target: expected 0 to 16, found 17"});
}

TEST_F(ForwardText, InspectTellsOfTextInPlaceOfImages) {
    const Finished run = cait({"inspect", path("t.safetensors")});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("en to de"), HasSubstr("30 pieces, words"),
                               HasSubstr("sentence of 32 pieces"), Not(HasSubstr("pixels"))));
    const auto json = nlohmann::json::parse(cait({"inspect", path("t.safetensors"), "--json"}).out);
    EXPECT_EQ(json["text"]["source"], "en");
    EXPECT_EQ(json["text"]["kind"], "words");
    EXPECT_EQ(json["vocabulary"], 30);
    EXPECT_FALSE(json.contains("image_size"));
    EXPECT_FALSE(json["metadata"].contains("cait.vocabulary"));
    const Finished graph =
        cait({"inspect", "--graph", "--fused", path("t.safetensors"), "--tap", "step_logits"});
    ASSERT_EQ(graph.status, 0) << graph.err;
    for (const char* text : {"embedding", "piece", "past.0", "masked_attention"})
        EXPECT_THAT(graph.out, HasSubstr(text));
    ASSERT_EQ(
        cait({"convert", path("t.safetensors"), path("half.safetensors"), "--dtype", "float16"})
            .status,
        0);
    EXPECT_THAT(cait({"inspect", path("half.safetensors")}).out, HasSubstr("en to de"));
}

TEST_F(ForwardText, ModelsListsThemForText) {
    const auto models = nlohmann::json::parse(cait({"models", "translate", "--json"}).out);
    ASSERT_EQ(models.size(), 3U);
    for (const auto& model : models) EXPECT_TRUE(model["image_size"].is_null());
    const Finished table = cait({"models", "transformer_base"});
    EXPECT_THAT(table.out, AllOf(HasSubstr(" text "), HasSubstr("60.92"), HasSubstr("32 pieces")));
    EXPECT_THAT(cait({"models", "resmlp_translate_6", "--print"}).out,
                AllOf(HasSubstr("mixer = \"resmlp\""), HasSubstr("layer_scale = 0.2")));
}

// Each names the command that there is for such models, and none crashes.
TEST_F(ForwardText, CommandsForImagesRefuseThem) {
    const std::string file = path("t.safetensors"), image = path("x.png"), name = "cait translate";
    write("x.png", "no image");
    expect_refused(cait({"predict", "--weights", file, image}), 2, {name});
    expect_refused(cait({"preprocess", "--weights", file, image, "--output", path("o.npy")}), 2,
                   {name});
    expect_refused(cait({"attend", "--weights", file, image, "--output", path("o.png")}), 2,
                   {name});
    expect_refused(cait({"quantize", file, path("q.safetensors")}), 2, {name});
    expect_refused(cait({"embed", "--weights", file, image, "--output", path("o.safetensors")}), 2,
                   {name});
    expect_refused(cait({"forward", "--model", "cait_xxs24_224", "--input", path("source.npy"),
                         "--output", path("o.npy")}),
                   1, {"expected float32 images"});
    expect_refused(cait({"convert", file, path("c.safetensors"), "--names", "timm"}), 2,
                   {"timm has no translate models"});
    expect_refused(cait({"convert", file, path("c.safetensors"), "--set", "model.image_size=64"}),
                   2, {"unknown key model.image_size"});
}

}  // namespace
}  // namespace cait::e2e
