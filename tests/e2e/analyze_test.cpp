// `cait analyze` as people use it: one model with and without data, several models, wrong words.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "image/codec/decode.h"
#include "unit/data/support.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Analyze : public InFolder {
protected:
    Analyze() {
        for (const char* place :
             {"set/one/1.png", "set/one/2.png", "set/two/3.png", "set/three/4.png",
              "again/one/5.png", "again/two/6.png", "again/three/7.png"})
            data_test::put(folder_ / place, data_test::png(data_test::numbered_image(
                                                place[std::string(place).size() - 5], 40, 30)));
        Model cait = tiny_cait("0.5");
        cait.set_classes({"one", "three", "two"});
        save(cait, "cait");
        Model deit = Model::create("deit_tiny_distilled_patch16_224", kSmall, 3);
        deit.set_classes({"one", "three", "two"});
        save(deit, "deit");
        SettingList without_heads = kSmall;
        std::erase_if(without_heads, [](const auto& one) { return one.first == "heads"; });
        Model mlp = Model::create("resmlp_12_224", without_heads, 3);
        mlp.set_classes({"one", "three", "two"});
        save(mlp, "mlp");
    }

    void save(const Model& model, const std::string& name) const {
        model.save(folder_ / (name + ".safetensors"));
    }
    Words with(const Words& models) const {
        Words words{"analyze", "--weights"};
        for (const std::string& model : models) words.push_back(path(model + ".safetensors"));
        return words + Words{"--output", path("look")};
    }
    Words data(const std::string& name) const { return {"--data", "folder:" + path(name)}; }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        const auto numbers = nlohmann::json::parse(run.out);
        EXPECT_EQ(numbers, nlohmann::json::parse(read(path("look/analysis.json"))));
        return numbers.at("analyses");
    }
    std::vector<std::string> charts() const {  // each as SVG and PNG
        std::vector<std::string> names;
        for (const auto& file : fs::directory_iterator(path("look"))) {
            const fs::path& name = file.path();
            if (name.extension() != ".svg") continue;
            names.push_back(name.stem().string());
            EXPECT_THAT(read(name.string()), AllOf(HasSubstr("<svg "), Not(HasSubstr("nan"))));
            const Image image = read_image(fs::path(name).replace_extension(".png"));
            EXPECT_GT(image.width, 500);
        }
        std::ranges::sort(names);
        return names;
    }

    static inline const SettingList kSmall = {{"image_size", "16"}, {"patch", "8"},
                                              {"dim", "16"},        {"depth", "3"},
                                              {"heads", "2"},       {"classes", "3"}};
};

TEST_F(Analyze, AModelWithDataGetsAllThatFitsIt) {
    const Finished run = cait(with({"cait"}) + data("set"));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err,
                AllOf(HasSubstr("note: filters: left out: cait_xxs24_224: expected a model "
                                "that mixes patches"),
                      HasSubstr("note: tokens: left out"), HasSubstr("note: cost: left out"),
                      HasSubstr("note: second: left out"), HasSubstr("analysis.html")));
    EXPECT_THAT(charts(), ElementsAre("crop", "layerscale-attention", "layerscale-mlp",
                                      "residual-attention", "residual-mlp", "resolution-accuracy",
                                      "resolution-memory", "similarity", "similarity-by-depth"));
    const std::string page = read(path("look/analysis.html"));
    EXPECT_THAT(page, AllOf(HasSubstr("Residual branches"), HasSubstr("Crop ratio"),
                            HasSubstr("<svg"), Not(HasSubstr("<script")), Not(HasSubstr("http://")),
                            Not(HasSubstr("https://"))));
}

TEST_F(Analyze, TheNumbersAreThoseOfTheTaps) {
    const auto found = json(with({"cait"}) + Words{path("set"), "--what", "residual,layerscale"});
    EXPECT_EQ(found.size(), 2U);
    const auto& branches = found["residual"][0]["branches"];
    ASSERT_EQ(branches.size(), 6U);  // two blocks and a class layer
    ASSERT_EQ(cait({"preprocess", "--weights", path("cait.safetensors"), path("set/one/1.png"),
                    path("set/one/2.png"), path("set/three/4.png"), path("set/two/3.png"),
                    "--output", path("x.npy")})
                  .status,
              0);
    ASSERT_EQ(cait({"forward", "--weights", path("cait.safetensors"), "--input", path("x.npy"),
                    "--tap", "residual_ratio.3", "--output", path("y.npy")})
                  .status,
              0);
    double sum = 0;
    const Tensor ratios = read_npy(path("y.npy"));
    for (const float value : ratios.floats()) sum += double(value);
    EXPECT_NEAR(branches[3]["ratio"], sum / 4, 1e-6);
    EXPECT_EQ(branches[3]["layer"], 1);
    EXPECT_EQ(branches[3]["branch"], "mlp");
    EXPECT_NEAR(found["layerscale"][0]["branches"][0]["mean"], 0.5, 1e-6);
    EXPECT_EQ(charts().size(), 4U);
}

TEST_F(Analyze, ResmlpShowsItsFiltersAndDeitItsTokens) {
    const auto filters = json(with({"mlp"}) + Words{"--what", "filters"});
    EXPECT_EQ(filters["filters"][0]["sparsity"].size(), 3U);
    EXPECT_THAT(charts(), ElementsAre("filters", "sparsity"));
    const auto tokens = json(with({"deit"}) + data("set") + Words{"--what", "tokens"});
    EXPECT_EQ(tokens["tokens"][0]["cosines"].size(), 4U);  // three blocks, and before the first
}

TEST_F(Analyze, SeveralModelsAreComparedByCostAndOnASecondSet) {
    const auto found = json(
        with({"cait", "deit", "mlp"}) + data("set") +
        Words{"--second", "folder:" + path("again"), "--what", "cost,second,residual,similarity"});
    ASSERT_EQ(found["cost"].size(), 3U);
    EXPECT_EQ(found["cost"][1]["family"], "deit");
    EXPECT_GT(found["cost"][2]["images_per_second"], 0);
    EXPECT_EQ(found["second"]["models"].size(), 3U);
    EXPECT_EQ(found["residual"].size(), 3U);
    EXPECT_EQ(found["similarity"].size(), 2U);  // ResMLP has no attention
    EXPECT_THAT(charts(), AllOf(Contains("cost-macs"), Contains("cost-speed"), Contains("second"),
                                Contains("similarity-2")));
    const auto papers = json({"analyze", "--reported", "cait_xxs,resmlp_12", "--what", "cost",
                              "--output", path("look")});
    EXPECT_GT(papers["cost"].size(), 4U);
    EXPECT_EQ(papers["cost"][0]["model"], "cait_xxs24_224");
    EXPECT_NEAR(papers["cost"][0]["top1"], 0.776, 1e-9);
}

TEST_F(Analyze, AccuraciesAreThoseOfEval) {
    const auto found = json(with({"cait"}) + data("set") +
                            Words{"--what", "resolution,crop", "--sizes", "16,24", "--ratios",
                                  "0.5,1", "--batch", "2"});
    const auto eval = [&](const Words& more) {
        const Finished run = cait(Words{"eval", "--weights", path("cait.safetensors"), "--json"} +
                                  data("set") + more);
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out);
    };
    const auto top1 = [](const nlohmann::json& result) {
        return (result.is_array() ? result[0] : result).at("top1").get<double>();
    };
    const auto& sizes = found["resolution"][0]["sizes"];
    ASSERT_EQ(sizes.size(), 2U);
    EXPECT_EQ(sizes[0]["size"], 16);
    EXPECT_NEAR(sizes[0]["top1"], top1(eval({})), 1e-9);
    EXPECT_NEAR(sizes[1]["top1"], top1(eval({"--set", "model.image_size=24"})), 1e-9);
    EXPECT_GT(sizes[1]["activations_mib"], sizes[0]["activations_mib"]);
    const auto& ratios = found["crop"][0]["ratios"];
    EXPECT_NEAR(ratios[0]["top1"], top1(eval({"--crop-ratio", "0.5"})), 1e-9);
    // People read the same in the table of the page.
    const std::string page = read(path("look/analysis.html"));
    for (const auto& ratio : ratios)
        EXPECT_THAT(page, HasSubstr(fmt::format("{:.2f} %", 100 * ratio["top1"].get<double>())));
    // Some of the images, always the same ones.
    const auto some = json(with({"cait"}) + data("set") +
                           Words{"--what", "crop", "--ratios", "1", "--limit", "2"});
    const double share = some["crop"][0]["ratios"][0]["top1"];
    EXPECT_NEAR(share * 2, std::round(share * 2), 1e-9);
}

TEST_F(Analyze, WrongWordsAreFoundBeforeAnythingIsRead) {
    const Words base{"analyze", "--weights", path("none.pth"), "--output", path("look")};
    expect_refused(cait(base + Words{"--what", "residuals"}), 2, {"--what", "'residuals'", "crop"});
    expect_refused(cait(base + Words{"--what", "residual"}), 2, {"--what residual", "--data"});
    expect_refused(cait(base + Words{"--what", "crop"}), 2, {"--what crop", "--data"});
    expect_refused(cait(base + Words{"--what", "second"} + data("set")), 2, {"--second"});
    expect_refused(cait(base + Words{"--what", "cost"} + data("set")), 2, {"several models"});
    expect_refused(cait(base + Words{"--second", "folder:x"}), 2, {"--second", "--data"});
    expect_refused(cait(base + Words{"--sizes", "4"}), 2, {"--sizes"});
    expect_refused(cait(base + Words{"--ratios", "0"}), 2, {"--ratios"});
    expect_refused(cait({"analyze", "--output", path("look")}), 2, {"--weights", "--reported"});
    expect_refused(cait({"analyze", "--weights", path("cait.safetensors")}), 2, {"--output"});
    write("file", "");
    expect_refused(cait({"analyze", "--weights", path("none.pth"), "--output", path("file")}), 2,
                   {"expected a folder"});
    EXPECT_FALSE(fs::exists(path("look")));
}

TEST_F(Analyze, WhatDoesNotFitIsAnErrorWhenAskedFor) {
    expect_refused(cait(with({"cait"}) + Words{"--what", "filters"}), 2,
                   {"--what filters: cait_xxs24_224: expected a model that mixes patches"});
    expect_refused(cait(with({"mlp"}) + data("set") + Words{"--what", "similarity"}), 2,
                   {"--what similarity: resmlp_12_224"});
    expect_refused(
        cait(with({"cait"}) + data("set") + Words{"--what", "resolution", "--sizes", "20"}), 2,
        {"--what resolution", "patch"});
    write("set/bad.png", "no image");
    expect_refused(cait(with({"cait"}) + Words{path("set/bad.png"), "--what", "residual"}), 1,
                   {"bad.png: expected a JPEG, PNG or WebP image"});
}

TEST_F(Analyze, AnImageThatCannotBeReadEndsAMeasurement) {
    // So many that leaving one out would be a small share.
    for (int i = 0; i < 40; ++i)
        std::filesystem::copy_file(path("set/one/1.png"),
                                   path("set/one/c" + std::to_string(i) + ".png"));
    write("set/one/bad.png", "no image");
    expect_refused(cait(with({"cait"}) + data("set") + Words{"--what", "crop", "--ratios", "1"}), 1,
                   {"bad.png: expected a JPEG, PNG or WebP image"});
}

}  // namespace
}  // namespace cait::e2e
