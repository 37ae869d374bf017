// The features that `cait analyze` looks at, on images that differ in colour, labelled at two
// levels.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "image/codec/decode.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AnalyzeFeatures : public InFolder {
protected:
    AnalyzeFeatures() {
        data_test::put_class_folders(folder_ / "set", 4, 9);
        data_test::put(folder_ / "groups.csv",
                       "class,group\nclass0,a\nclass1,a\nclass2,b\nclass3,b\n");
        tiny_cait("1").save(folder_ / "m.safetensors");
    }

    // The same model as one that answers with the groups.
    void save_coarse() const {
        Model model = Model::create("cait_xxs24_224", {{"image_size", "16"},
                                                       {"patch", "8"},
                                                       {"dim", "16"},
                                                       {"depth", "2"},
                                                       {"heads", "2"},
                                                       {"class_layers", "1"},
                                                       {"residual_init", "1"},
                                                       {"classes", "2"}});
        model.set_classes({"b", "a"});
        model.save(folder_ / "coarse.safetensors");
    }

    std::string uri() const { return "folder:" + path("set") + "?parents=" + path("groups.csv"); }
    Words features(const std::string& what, const Words& more = {}) const {
        return Words{"analyze", "--what", what, "--weights", path("m.safetensors"),
                     "--data",  uri()} +
               more;
    }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out, nullptr, false);
    }
};

TEST_F(AnalyzeFeatures, MakesAllAnalysesInOnePage) {
    save_coarse();
    const Words all = Words{"analyze",
                            "--what",
                            "pca,tsne,granularity,separability",
                            "--weights",
                            "A=" + path("m.safetensors"),
                            "A=" + path("coarse.safetensors"),
                            "--data",
                            uri(),
                            "--k",
                            "3,5",
                            "--perplexity",
                            "5",
                            "--iterations",
                            "300",
                            "--draws",
                            "3",
                            "--report",
                            path("r.html"),
                            "--svg",
                            path("charts")};
    const nlohmann::json found = json(all);
    ASSERT_EQ(found["models"].size(), 2U);
    const nlohmann::json& fine = found["models"][0];
    EXPECT_EQ(fine["images"], 36);
    EXPECT_EQ(fine["dimension"], 16);
    EXPECT_EQ(fine["method"], "A");
    EXPECT_EQ(fine["name"], "A (m)");
    EXPECT_TRUE(fine["trained_at"].is_null());
    EXPECT_EQ(found["models"][1]["trained_at"], "group");
    EXPECT_EQ(fine["pca"]["energy"].size(), 16U);
    EXPECT_NEAR(fine["pca"]["energy"][15].get<double>(), 1, 1e-12);
    EXPECT_EQ(fine["tsne"]["points"].size(), 36U);
    EXPECT_EQ(fine["granularity"].size(), 2U);
    EXPECT_EQ(fine["granularity"][0]["level"], "group");
    EXPECT_EQ(fine["granularity"][1]["classes"], 4);
    EXPECT_EQ(fine["separability"]["draws"].size(), 3U);
    EXPECT_FALSE(fine["separability"].contains("conditional"));
    EXPECT_GE(found["models"][1]["separability"]["conditional"]["mean"], 0);
    EXPECT_EQ(found["split"]["level"], "group");
    EXPECT_EQ(found["split"]["classes"], 2);
    EXPECT_EQ(found["map"]["labels"]["class"].size(), 36U);

    const std::string page = read(path("r.html"));
    EXPECT_THAT(page, AllOf(HasSubstr("Cumulative energy"), HasSubstr("Accuracy by granularity"),
                            HasSubstr("coloured by group"), HasSubstr("Separability"),
                            Not(HasSubstr("<script")), Not(HasSubstr("src=\"http"))));
    for (const char* file : {"pca", "granularity-knn", "granularity-map", "tsne-A-m-group",
                             "tsne-A-m-class", "tsne-A-coarse-class", "separability"})
        EXPECT_THAT(read(path(std::string("charts/") + file + ".svg")),
                    AllOf(HasSubstr("<svg xmlns"), HasSubstr("prefers-color-scheme: dark"),
                          Not(HasSubstr("var(--"))))
            << file;
    const Image map = read_image(path("charts/tsne-A-m-class.png"));
    EXPECT_EQ(map.width, 2 * 420);
    EXPECT_GT(map.height, 2 * 420);
    EXPECT_EQ(json(all)["models"], found["models"]);  // nothing is left to chance
}

// What granularity tells is what `cait eval --levels` tells.
TEST_F(AnalyzeFeatures, GranularityIsThatOfEval) {
    const nlohmann::json found = json(features("granularity", {"--k", "3"}))["models"][0];
    const nlohmann::json eval =
        json({"eval", "--weights", path("m.safetensors"), "--data", uri(), "--knn", uri(),
              "--retrieval", uri(), "--k", "3", "--levels"});
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(found["granularity"][i]["top1"], eval["levels"][i]["knn"][0]["top1"]);
        EXPECT_EQ(found["granularity"][i]["map"], eval["levels"][i]["retrieval"]["map"]);
    }
}

// One run of both kinds: the folder has what is inside the models, the JSON has all.
TEST_F(AnalyzeFeatures, GoTogetherWithWhatIsInsideAModel) {
    const nlohmann::json found =
        json(Words{"analyze", "--what", "layerscale,pca", "--weights", "A=" + path("m.safetensors"),
                   "--data", uri(), "--output", path("look")});
    EXPECT_EQ(found["analyses"]["layerscale"][0]["model"], "A");
    EXPECT_EQ(found["features"]["models"][0]["name"], "A");
    EXPECT_EQ(found["features"]["models"][0]["pca"]["energy"].size(), 16U);
    EXPECT_TRUE(std::filesystem::exists(path("look/analysis.html")));
}

TEST_F(AnalyzeFeatures, PrintsTables) {
    const Finished run = cait(features("pca,separability", {"--draws", "2", "--level", "class"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("36 images of"), HasSubstr("principal components"),
                      HasSubstr("random halves of the 4 classes of level class"), HasSubstr("±")));
    EXPECT_THAT(run.err, HasSubstr("its classes are not those of level 'class'"));
}

TEST_F(AnalyzeFeatures, DrawsSomeOfTooManyImages) {
    const Words words = features(
        "tsne", {"--points", "20", "--perplexity", "4", "--iterations", "50", "--seed", "3"});
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("the map shows 20 of 36 images, drawn at random (seed 3)"));
    const nlohmann::json found = json(words);
    EXPECT_EQ(found["map"]["indices"].size(), 20U);
    EXPECT_EQ(found["models"][0]["tsne"]["points"].size(), 20U);
    EXPECT_EQ(found["notes"].size(), 1U);
}

TEST_F(AnalyzeFeatures, SaysWhatIsWrong) {
    const auto run = [&](const std::string& what, const Words& more = {}) {
        return cait(features(what, more));
    };
    expect_refused(cait({"analyze", "--what", "pca"}), 2, {"--weights"});
    expect_refused(cait({"analyze", "--what", "pca", "--weights", path("m.safetensors")}), 2,
                   {"--what pca: expected --weights FILE and --data"});
    expect_refused(cait(features("residual")), 2, {"--output"});
    expect_refused(cait(features("residual", {"--output", path("x"), "--report", path("r.html")})),
                   2, {"--report: expected the analysis pca"});
    expect_refused(cait({"study", "pca", "--weights", path("m.safetensors")}), 2,
                   {"`cait study ANALYSIS` is now `cait analyze --what ANALYSIS`"});
    expect_refused(run("pcb"), 2, {"pcb"});
    expect_refused(run("pca", {"--k", "3"}), 2, {"--k: expected the analysis granularity"});
    expect_refused(run("pca", {"--test", uri()}), 2, {"--test: expected the analysis"});
    expect_refused(run("pca", {"--level", "group"}), 2, {"--level: expected the analysis"});
    expect_refused(run("tsne", {"--perplexity", "36"}), 2,
                   {"--perplexity: expected less than the 36 images", "found 36"});
    expect_refused(run("granularity", {"--k", "36"}), 2,
                   {"--k: expected at most 35, the images to find", "found 36"});
    expect_refused(run("separability", {"--level", "genus"}), 2,
                   {"level 'genus': expected one of group, class"});
    expect_refused(run("separability", {"--level", "one"}), 1,
                   {"expected images of at least 2 classes, found 1"});
    const std::string plain = "folder:" + path("set");
    expect_refused(run("granularity", {"--k", "3", "--test", plain}), 2,
                   {"level 'group': its images are labelled at one level only"});
    expect_refused(run("pca", {"--tap", "middle"}), 2, {"unknown tap 'middle'"});
    expect_refused(run("pca", {"--report", path("none/r.html")}), 1, {"none/r.html"});
    write("file", "");
    expect_refused(run("pca", {"--svg", path("file")}), 1, {"file: cannot create the folder"});
    expect_refused(run("pca", {"--report", path("m.safetensors")}), 2, {"m.safetensors"});
}

TEST_F(AnalyzeFeatures, RefusesTooFewImagesAndDeadFeatures) {
    data_test::put_class_folders(folder_ / "few", 1, 1);
    const Words weights{"--weights", path("m.safetensors"), "--data", "folder:" + path("few")};
    expect_refused(cait(Words{"analyze", "--what", "pca"} + weights), 1,
                   {"m.safetensors: expected at least 2 images", "found 1"});
    data_test::put_class_folders(folder_ / "pair", 2, 1);
    const Words pair{"--weights", path("m.safetensors"), "--data", "folder:" + path("pair")};
    expect_refused(cait(Words{"analyze", "--what", "separability"} + pair), 1,
                   {"expected at least 2 images of every class, found 1"});
}

}  // namespace
}  // namespace cait::e2e
