// `cait attend` as people use it: pictures, folders of them, numbers, several models.
#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>

#include "e2e/photo_list.h"
#include "e2e/tiny_models.h"
#include "image/codec/decode.h"
#include "image/draw/heat_map.h"
#include "support/looking_model.h"
#include "unit/data/support.h"
#include "weights/npy.h"
#include "weights/weight_file.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Attend : public InFolder {
protected:
    Attend() {
        for (const char* name : {"a.png", "b.png"})
            data_test::put(folder_ / name, data_test::png(data_test::numbered_image(
                                               name[0] == 'a' ? 7 : 8, 60, 40)));
        save(tiny_cait("0.5"), "cait");
        save(Model::create("deit_tiny_distilled_patch16_224", kSmall, 3), "deit");
        data_test::put(folder_ / "two.png", data_test::png(test::red_and_blue(256)));
        save(test::looking_model(), "looking");
    }

    void save(const Model& model, const std::string& name) const {
        model.save(folder_ / (name + ".safetensors"));
    }
    Words with(const std::string& model) const {
        return {"attend", "--weights", path(model + ".safetensors")};
    }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out);
    }
    Tensor raw(const Words& words) const {
        const Finished run = cait(words + Words{"--raw", path("maps.npy")});
        EXPECT_EQ(run.status, 0) << run.err;
        return read_npy(path("maps.npy"));
    }

    static inline const SettingList kSmall = {{"image_size", "16"}, {"patch", "8"},
                                              {"dim", "16"},        {"depth", "3"},
                                              {"heads", "2"},       {"classes", "3"}};
};

bool has_torch() { return fs::exists(fs::path(program()).replace_filename("cait-torch")); }

TEST_F(Attend, IsDrawnOverTheWholePhotograph) {
    data_test::put(folder_ / "wide.png", data_test::png(data_test::numbered_image(7, 900, 300)));
    ASSERT_EQ(cait(with("cait") + Words{path("wide.png"), "--output", path("look.png")}).status, 0);
    const Image one = read_image(path("look.png"));
    EXPECT_GT(one.width, 2 * 900);  // the photograph and the map beside it, pixel for pixel
    EXPECT_LT(one.width, 2 * 1000);
    ASSERT_EQ(cait(with("cait") + Words{path("wide.png"), path("a.png"), path("b.png"), "--output",
                                        path("grid.jpg")})
                  .status,
              0);
    const Image grid = read_image(path("grid.jpg"));
    EXPECT_GT(grid.width, 6 * 640);
    EXPECT_LT(grid.height, 900);  // one row
}

// The photograph is red on the left and blue on the right; the model looks for each class where its
// colour is. Figure 5.6 of the thesis: the likeliest three, each with its own map.
TEST_F(Attend, AMapPerClassIsDrawnUnderTheNameOfItsClass) {
    const Words attend = with("looking") + Words{path("two.png"), "--style", "heat"};
    ASSERT_EQ(cait(attend + Words{"--output", path("look.png")}).status, 0);
    const Image sheet = read_image(path("look.png"));
    EXPECT_GT(sheet.width, 4 * 256);  // the photograph and three maps
    EXPECT_LT(sheet.width, 5 * 256);
    // Mean brightness of the left and the right half of a tile, a band in its middle.
    const auto halves = [&](std::int64_t tile) {
        const std::int64_t width = sheet.width / 4, left = tile * width;
        std::array<double, 2> sums{};
        for (std::int64_t y = sheet.height * 2 / 5; y < sheet.height / 2; ++y)
            for (std::int64_t x = left + width / 8; x < left + width * 7 / 8; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    sums[x < left + width / 2 ? 0 : 1] += sheet.row(y)[3 * x + c];
        return sums;
    };
    EXPECT_GT(halves(1)[0], 1.5 * halves(1)[1]);        // red, the first answer
    EXPECT_LT(1.5 * halves(2)[0], halves(2)[1]);        // blue
    EXPECT_NEAR(halves(3)[0] / halves(3)[1], 1, 0.25);  // grey looks everywhere
    ASSERT_EQ(cait(attend + Words{"--heads", "--output", path("rows.png")}).status, 0);
    const Image rows = read_image(path("rows.png"));
    EXPECT_LT(rows.width, 4 * 256);  // the photograph, the mean and the one head
    EXPECT_GT(rows.height, 3 * 256);
    const auto maps = json(attend)[0]["models"][0]["maps"];
    ASSERT_EQ(maps.size(), 3U);
    EXPECT_EQ(maps[0]["label"], "red");
    EXPECT_EQ(maps[1]["label"], "blue");
    EXPECT_LT(maps[0]["most_at"][1], 2);
    EXPECT_GE(maps[1]["most_at"][1], 2);
}

// Figure 3.10: the photograph in the colours of cividis, and every class above 10 %.
TEST_F(Attend, SaliencyIsTheDefaultAndNamesEveryClassAboveATenth) {
    Model model = tiny_cait("0.5");
    std::map<std::string, Tensor> weights = model.weights();
    Tensor bias = Tensor::of({3}, std::vector<float>{2, 2.5F, -9});
    weights["head.weight"] = Tensor::zeros(DType::f32, model.weights().at("head.weight").shape());
    weights["head.bias"] = bias;
    model = model.with_weights(std::move(weights));
    model.set_classes({"racket", "ball", "church"});
    save(model, "sure");
    const Words attend = with("sure") + Words{path("a.png"), "--side", "64", "--output"};
    const auto seen = json(attend + Words{path("default.png")})[0];
    EXPECT_EQ(seen["image"], path("a.png"));
    const auto& answers = seen["models"][0]["predictions"];
    ASSERT_EQ(answers.size(), 2U);  // 62 % and 38 %; the church has less than a tenth
    EXPECT_EQ(answers[0]["label"], "ball");
    EXPECT_EQ(answers[1]["label"], "racket");
    EXPECT_GT(answers[1]["score"], 0.1);
    ASSERT_EQ(cait(attend + Words{path("saliency.png"), "--style", "saliency"}).status, 0);
    ASSERT_EQ(cait(attend + Words{path("heat.png"), "--style", "heat"}).status, 0);
    ASSERT_EQ(cait(attend + Words{path("map.png"), "--style", "map"}).status, 0);
    EXPECT_EQ(read(path("default.png")), read(path("saliency.png")));
    EXPECT_NE(read(path("default.png")), read(path("heat.png")));
    EXPECT_NE(read(path("map.png")), read(path("heat.png")));
    // Two answers under the photograph make the sheet higher than one.
    save(tiny_cait("0.5"), "unsure");
    EXPECT_GT(read_image(path("default.png")).height, 64 + 3 * 20);
}

TEST_F(Attend, RawMapsAreTheTapsOfEveryHead) {
    const Tensor maps = raw(with("cait") + Words{path("a.png"), path("b.png"), "--layer", "all"});
    EXPECT_EQ(maps.shape(), (Shape{2, 1, 2, 2, 2}));
    ASSERT_EQ(cait({"preprocess", "--weights", path("cait.safetensors"), path("a.png"),
                    path("b.png"), "--output", path("x.npy")})
                  .status,
              0);
    for (const char* executor : {"engine", "torch"}) {
        if (std::string(executor) == "torch" && !has_torch()) continue;
        ASSERT_EQ(
            cait({"forward", "--weights", path("cait.safetensors"), "--input", path("x.npy"),
                  "--output", path("y.npy"), "--tap", "class_attention.0", "--executor", executor})
                .status,
            0);
        const Tensor tap = read_npy(path("y.npy"));  // [2, heads, 1, class token and patches]
        ASSERT_EQ(tap.shape(), (Shape{2, 2, 1, 5}));
        for (std::size_t row = 0; row < 4; ++row)
            for (std::size_t k = 0; k < 4; ++k)
                EXPECT_NEAR(maps.floats()[4 * row + k], tap.floats()[5 * row + 1 + k], 1e-4)
                    << executor;
    }
}

TEST_F(Attend, ChoosesTheLayerThatEachKindOfModelShowsBest) {
    const auto layers = [&](const std::string& model, const Words& more) {
        std::vector<int> numbers;
        const auto seen = json(with(model) + Words{path("a.png")} + more);
        for (const auto& map : seen[0]["models"][0]["maps"])
            numbers.push_back(map.value("layer", -1));
        return numbers;
    };
    EXPECT_THAT(layers("cait", {}), ElementsAre(0));
    EXPECT_THAT(layers("deit", {}), ElementsAre(2));
    EXPECT_THAT(layers("deit", {"--layer", "1"}), ElementsAre(1));
    EXPECT_THAT(layers("deit", {"--layer", "last"}), ElementsAre(2));
    EXPECT_THAT(layers("deit", {"--layer", "all"}), ElementsAre(0, 1, 2));
    EXPECT_THAT(layers("deit", {"--map", "rollout"}), ElementsAre(-1));
    // All layers and heads: a row for each layer, as in figure 3.9.
    ASSERT_EQ(cait(with("deit") + Words{path("a.png"), "--layer", "all", "--heads", "--side", "64",
                                        "--output", path("heads.png")})
                  .status,
              0);
    const Image rows = read_image(path("heads.png"));
    EXPECT_GT(rows.width, 4 * 64);
    EXPECT_LT(rows.width, 5 * 64 + 64);
    EXPECT_GT(rows.height, 3 * (64 + 20));
}

TEST_F(Attend, ABackboneWithoutClassesIsLookedInto) {
    SettingList settings = kSmall;
    settings.back() = {"classes", "0"};
    save(Model::create("vit_small_patch14_reg4_dinov2", settings, 3), "dino");
    for (const Words& more : {Words{}, Words{"--map", "rollout"}}) {
        const auto seen =
            json(with("dino") + Words{path("a.png"), "--side", "64", "--output", path("look.png")} +
                 more);
        EXPECT_TRUE(seen[0]["models"][0]["predictions"].empty());
        EXPECT_EQ(seen[0]["models"][0]["maps"][0]["width"], 2);
    }
}

TEST_F(Attend, SeveralModelsStandSideBySide) {
    const Words both{
        "attend",      "--weights",  path("cait.safetensors"), path("deit.safetensors"),
        path("a.png"), path("b.png")};
    const auto seen = json(both + Words{"--output", path("grid.png"), "--side", "64", "--raw",
                                        path("maps.safetensors")});
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0]["models"][0]["model"], "cait_xxs24_224");
    EXPECT_EQ(seen[1]["models"][1]["model"], "deit_tiny_distilled_patch16_224");
    const Image grid = read_image(path("grid.png"));
    EXPECT_GT(grid.width, 3 * 64);
    EXPECT_LT(grid.width, 4 * 64);
    EXPECT_GT(grid.height, 2 * 64);
    const WeightFile maps = open_weights(path("maps.safetensors"));
    ASSERT_EQ(maps.tensors.size(), 2U);
    EXPECT_EQ(maps.tensors[1].name, "deit_tiny_distilled_patch16_224");
    EXPECT_EQ(maps.tensors[1].tensor.shape(), (Shape{2, 1, 2, 2, 2}));
    // Two of one kind go by the names of their files; the word is taken once, too.
    save(tiny_cait("0.1"), "other");
    const auto twins =
        json({"attend", path("a.png"), "--weights", path("cait.safetensors"), "--weights",
              path("other.safetensors"), "--heads", "--output", path("twins.png")});
    EXPECT_EQ(twins[0]["models"][0]["model"], "cait");
    EXPECT_EQ(twins[0]["models"][1]["model"], "other");
    // NAME of NAME=FILE is a label; the file of others does not say whose it is.
    const auto labelled = json({"attend", path("a.png"), "--weights",
                                "mine=" + path("cait.safetensors"), path("other.safetensors")});
    EXPECT_EQ(labelled[0]["models"][0]["model"], "mine");
    expect_refused(cait({"attend", "--weights", path("cait.safetensors"),
                         "cait_xxs=" + data("tiny_cait_zip.pth"), path("a.png"), "--json"}),
                   2, {"tiny_cait_zip.pth: the file does not say which model"});
    expect_refused(cait(both + Words{"--raw", path("maps.npy")}), 2, {".safetensors"});
    expect_refused(cait(both + Words{"--json", "--packed", path("p")}), 2,
                   {"--packed", "one model"});
}

TEST_F(Attend, AFolderGetsAPictureOfEachPhotograph) {
    for (const char* place : {"in/one/1.png", "in/one/2.png", "in/two/1.png"})
        data_test::put(folder_ / place, data_test::png(data_test::numbered_image(9, 60, 30)));
    write("in/bad.png", "no image");
    const Finished run = cait(with("cait") + Words{path("in"), "--output", path("maps/")});
    EXPECT_EQ(run.status, 1);  // for the bad one
    EXPECT_THAT(run.err, AllOf(HasSubstr("bad.png: expected"), HasSubstr("wrote 3 pictures")));
    for (const char* name : {"maps/1.png", "maps/2.png", "maps/1-2.png"})
        EXPECT_GT(read_image(path(name)).width, 2 * 180) << name;  // enlarged to be looked at
    // No photograph is written over.
    const Finished over = cait(with("cait") + Words{path("in/one"), "--output", path("in/one")});
    expect_refused(over, 2, {"would be written over"});
    const Finished one = cait(with("cait") + Words{path("a.png"), "--output", path("a.png/")});
    expect_refused(one, 1, {"cannot make the folder"});
}

TEST_F(Attend, AFolderOfPicturesTakesNoMoreMemoryThanOne) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    expect_memory_stays(folder_, 40, 400, [&](const std::string& list) {
        return with("cait") + Words{list, "--output", path("maps/"), "--side", "64"};
    });
}

TEST_F(Attend, AnUnreadableImageCostsOnlyItsOwnPicture) {
    write("bad.png", "no image");
    const Finished look = cait(with("cait") + Words{path("a.png"), path("bad.png"), "--output",
                                                    path("look.png"), "--json"});
    EXPECT_EQ(look.status, 1);
    EXPECT_THAT(look.err, HasSubstr("bad.png: expected"));
    EXPECT_EQ(nlohmann::json::parse(look.out).size(), 1U);
    EXPECT_TRUE(fs::exists(path("look.png")));
    const Finished none = cait(with("cait") + Words{path("bad.png"), "--json"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.out, "");
}

TEST_F(Attend, WrongWordsAreFoundBeforeAnythingIsRead) {
    const Words attend = Words{"attend", path("a.png"), "--weights", path("none.pth")};
    expect_refused(cait(attend + Words{"--output", path("no/folder/look.png")}), 1,
                   {"look.png: cannot create"});
    expect_refused(cait(attend + Words{"--output", path("look.bmp")}), 2, {"look.bmp", ".png"});
    expect_refused(cait(attend), 2, {"--output", "--raw", "--json"});
    expect_refused(cait(attend + Words{"--raw", path("maps.txt")}), 2, {"maps.txt", ".npy"});
    expect_refused(cait(attend + Words{"--json", "--layer", "first"}), 2, {"--layer", "'first'"});
    expect_refused(cait(attend + Words{"--json", "--map", "rollout", "--layer", "1"}), 2,
                   {"--layer", "rollout"});
    expect_refused(cait(attend + Words{"--json", "--map", "rollout", "--heads"}), 2,
                   {"--heads", "rollout"});
    expect_refused(cait(attend + Words{"--json", "--style", "grey"}), 2, {"--style", "saliency"});
    expect_refused(cait({"attend", "--weights", path("none.pth"), "--json"}), 2,
                   {"image files or --data"});
}

TEST_F(Attend, SaysWhatAModelHasNot) {
    expect_refused(cait(with("cait") + Words{path("a.png"), "--json", "--layer", "7"}), 2,
                   {"--layer 7: cait_xxs24_224 has the layers 0 to 0"});
    expect_refused(cait(with("cait") + Words{path("a.png"), "--json", "--map", "rollout"}), 2,
                   {"--map rollout: cait_xxs24_224 has layers of its own"});
    save(Model::create("resnet18", {{"image_size", "32"}, {"width", "4"}, {"classes", "3"}}),
         "resnet");
    expect_refused(cait(with("resnet") + Words{path("a.png"), "--json"}), 2,
                   {"resnet18: expected a model whose class token looks at patches"});
}

}  // namespace
}  // namespace cait::e2e
