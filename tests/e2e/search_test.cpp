// `cait embed`, `cait index`, `cait search` and the neighbours of `cait eval`, as a user runs them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "unit/data/support.h"
#include "weights/npy.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Three classes of eight images that differ in colour, in two groups.
class Search : public InFolder {
protected:
    Search() {
        data_test::put_class_folders(folder_ / "set", 3, 8);
        data_test::put(folder_ / "groups.csv", "class,group\nclass0,a\nclass1,a\nclass2,b\n");
        tiny_cait("1").save(folder_ / "m.safetensors");
    }

    std::string uri() const { return "folder:" + path("set") + "?parents=" + path("groups.csv"); }
    Words weights() const { return {"--weights", path("m.safetensors")}; }
    void embed(const std::string& output, const Words& more = {}) const {
        const Finished run =
            cait(Words{"embed", "--data", uri(), "--output", path(output)} + weights() + more);
        ASSERT_EQ(run.status, 0) << run.err;
    }
    void index(const std::string& output = "i.faiss", const Words& more = {}) const {
        const Finished run =
            cait(Words{"index", "--data", uri(), "--output", path(output)} + weights() + more);
        ASSERT_EQ(run.status, 0) << run.err;
    }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out, nullptr, false);
    }
};

TEST_F(Search, EmbedWritesVectorsAndLabels) {
    embed("x.npy", {"--labels", path("y.npy")});
    const Tensor vectors = read_npy(path("x.npy")), labels = read_npy(path("y.npy"));
    EXPECT_EQ(vectors.shape(), (Shape{24, 16}));
    ASSERT_EQ(labels.shape(), (Shape{24}));
    std::int64_t last = 0;
    std::memcpy(&last, labels.bytes() + 23 * 8, 8);
    EXPECT_EQ(last, 2);

    // Numbers of the model's classes where it knows them, which may be in another order.
    Model model = tiny_cait("1");
    model.set_classes({"class2", "class0", "class1"});
    model.save(folder_ / "m.safetensors");
    embed("x.npy", {"--labels", path("y.npy")});
    const Tensor ordered = read_npy(path("y.npy"));
    std::memcpy(&last, ordered.bytes() + 23 * 8, 8);
    EXPECT_EQ(last, 0);
    model.set_classes({"class2", "class0", "another"});
    model.save(folder_ / "m.safetensors");
    const Finished unknown =
        cait(Words{"embed", "--data", uri(), "--output", path("x.npy"), "--labels", path("y.npy")} +
             weights());
    ASSERT_EQ(unknown.status, 0) << unknown.err;
    EXPECT_THAT(unknown.err, HasSubstr("--labels: in the order of the data's classes"));

    embed("flip.npy", {"--flip"});
    EXPECT_NE(std::memcmp(vectors.bytes(), read_npy(path("flip.npy")).bytes(), 24 * 16 * 4), 0);
    embed("tokens.npy", {"--tap", "tokens", "--batch", "5"});
    EXPECT_EQ(read_npy(path("tokens.npy")).shape(), (Shape{24, 16}));
    embed("all.safetensors");
    const TensorFile all = TensorFile::open(path("all.safetensors"));
    std::vector<std::string> names;
    for (const NamedTensor& one : all.tensors) names.push_back(one.name);
    EXPECT_THAT(names, testing::UnorderedElementsAre("features", "indices", "names", "labels.group",
                                                     "labels.class"));
}

TEST_F(Search, EmbedSaysWhatIsWrong) {
    const auto run = [&](const Words& more) { return cait(Words{"embed"} + weights() + more); };
    expect_refused(run({"--output", path("x.npy")}), 2, {"image files or --data"});
    expect_refused(run({path("set"), "--output", path("x.txt")}), 2, {".npy or .safetensors"});
    expect_refused(run({path("set"), "--output", path("x.npy"), "--labels", path("y.npy")}), 2,
                   {"--labels: image files have none"});
    expect_refused(run({path("set"), "--output", path("x.npy"), "--tap", "middle"}), 2,
                   {"unknown tap 'middle'"});
    expect_refused(run({path("set"), "--output", path("x.npy"), "--tap", "class_attention.0"}), 2,
                   {"tap class_attention.0: expected [B, D]"});
    data_test::put(folder_ / "set/class1/3.png", "not an image");
    expect_refused(run({path("set"), "--output", path("x.npy")}), 1, {"class1/3.png"});
    EXPECT_FALSE(std::filesystem::exists(path("x.npy")));
}

TEST_F(Search, FindsAnImageAndItsLikes) {
    index();
    // What FAISS itself reads: a flat index by inner product of 24 vectors of 16 numbers.
    const std::string bytes = read(path("i.faiss"));
    ASSERT_GT(bytes.size(), 16U);
    EXPECT_EQ(bytes.substr(0, 4), "IxFI");
    std::int32_t columns = 0;
    std::int64_t rows = 0;
    std::memcpy(&columns, bytes.data() + 4, 4);
    std::memcpy(&rows, bytes.data() + 8, 8);
    EXPECT_EQ(columns, 16);
    EXPECT_EQ(rows, 24);

    const std::string image = path("set/class1/2.png");
    const nlohmann::json by_image =
        json(Words{"search", "--index", path("i.faiss"), "--k", "4", image} + weights());
    ASSERT_EQ(by_image.size(), 1U);
    const nlohmann::json& found = by_image[0]["found"];
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0]["name"], image);
    EXPECT_EQ(found[0]["row"], 10);
    EXPECT_NEAR(found[0]["similarity"].get<double>(), 1, 1e-6);
    EXPECT_EQ(found[0]["labels"]["class"], "class1");
    EXPECT_GE(found[1]["similarity"], found[2]["similarity"]);

    const nlohmann::json by_row =
        json({"search", "--index", path("i.faiss"), "--k", "4", "--row", "10"});
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(by_row[0]["found"][i]["row"], found[i]["row"]) << i;
    EXPECT_EQ(by_row[0]["found"][0]["same"], "class");
}

TEST_F(Search, DrawsWhatItFinds) {
    index();
    const Finished run = cait({"search", "--index", path("i.faiss"), "--row", "3", "--row", "20",
                               "--k", "5", "--sheet", path("s.png")});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("class0/3.png"), HasSubstr("(same class)")));
    EXPECT_EQ(read(path("s.png")).substr(1, 3), "PNG");
}

TEST_F(Search, OtherIndexesComeByTheirFactoryString) {
    embed("x.safetensors");
    for (const char* factory : {"Flat", "IVF2,Flat", "HNSW8"}) {
        const Finished made = cait({"index", "--vectors", path("x.safetensors"), "--factory",
                                    factory, "--output", path("i.faiss")});
        ASSERT_EQ(made.status, 0) << made.err;
        const nlohmann::json found =
            json({"search", "--index", path("i.faiss"), "--row", "7", "--k", "1"});
        EXPECT_NEAR(found[0]["found"][0]["similarity"].get<double>(), 1, 1e-5) << factory;
    }
    expect_refused(cait({"index", "--vectors", path("x.safetensors"), "--factory", "Tree",
                         "--output", path("i.faiss")}),
                   2, {"--factory 'Tree'"});
    expect_refused(
        cait({"search", "--index", path("i.faiss"), "--row", "7", "--parameters", "speed=9"}), 2,
        {"--parameters 'speed=9'"});
}

TEST_F(Search, WhatDoesNotFitAnIndexIsRefused) {
    index();
    const Words search{"search", "--index", path("i.faiss")};
    const std::string image = path("set/class1/2.png");
    expect_refused(cait(search + Words{image}), 2, {"expected --weights"});
    expect_refused(cait(search + weights()), 2, {"--row N to search by"});
    expect_refused(cait(search + Words{"--row", "24"}), 2, {"--row: expected 0 to 23, found 24"});
    expect_refused(cait(search + Words{"--row", "1", "--k", "25"}), 2,
                   {"--k: expected 1 to 24", "found 25"});
    expect_refused(cait(search + weights() + Words{path("none.jpg")}), 1, {"none.jpg"});
    data_test::put(folder_ / "broken.jpg", "no image");
    expect_refused(cait(search + weights() + Words{path("broken.jpg")}), 1, {"broken.jpg"});

    // Another model, another layer, another dimension, no index at all.
    ASSERT_EQ(
        cait(Words{"convert", e2e::data("tiny_cait_zip.pth"), path("o.safetensors")} + kTinyCait)
            .status,
        0);
    expect_refused(cait(search + Words{"--weights", path("o.safetensors"), image}), 1,
                   {"i.faiss: was made by cait_xxs24_224 with other weights"});
    expect_refused(cait(search + weights() + Words{"--tap", "logits", image}), 1,
                   {"was made from features, not from logits"});
    index("j.faiss", {"--tap", "logits"});
    std::filesystem::copy_file(path("j.faiss"), path("i.faiss"),
                               std::filesystem::copy_options::overwrite_existing);
    expect_refused(cait(search + Words{"--row", "1"}), 1,
                   {"i.faiss: expected an index of 24 vectors of 16 numbers", "found 24 of 3"});
    data_test::put(folder_ / "i.faiss", "IxFI and nothing more");
    expect_refused(cait(search + Words{"--row", "1"}), 1,
                   {"i.faiss: expected a flat index of FAISS", "ends too early"});
    std::filesystem::remove(path("i.faiss"));
    expect_refused(cait(search + Words{"--row", "1"}), 1, {"i.faiss: cannot open"});
}

TEST_F(Search, EvalJudgesFeaturesByTheirNeighbours) {
    const nlohmann::json found =
        json(Words{"eval", "--data", uri(), "--knn", uri(), "--retrieval", uri(), "--k", "1,3",
                   "--levels", "--conditional", "group"} +
             weights());
    EXPECT_EQ(found["images"], 24);
    ASSERT_EQ(found["knn"].size(), 2U);
    EXPECT_EQ(found["knn"][1]["k"], 3);
    const nlohmann::json& retrieval = found["retrieval"];
    for (const char* score : {"map", "r_precision", "map_at_r"}) {
        EXPECT_GT(retrieval[score], 0) << score;
        EXPECT_LE(retrieval[score], 1) << score;
    }
    EXPECT_EQ(retrieval["recall_at"].size(), 3U);
    EXPECT_EQ(retrieval["queries"], 24);
    EXPECT_GE(retrieval["oracle"]["map"], retrieval["map"]);
    ASSERT_EQ(found["levels"].size(), 2U);
    EXPECT_EQ(found["levels"][0]["level"], "group");
    EXPECT_EQ(found["levels"][0]["classes"], 2);
    EXPECT_EQ(found["levels"][1]["knn"], found["knn"]);

    std::filesystem::copy_file(path("m.safetensors"), path("second.safetensors"));
    const Finished text = cait(Words{"eval", "--data", uri(), "--knn", uri(), "--k", "3",
                                     "--levels", "--compare", path("second.safetensors")} +
                               weights());
    ASSERT_EQ(text.status, 0) << text.err;
    const auto percent = [&](std::size_t level) {
        return 100 * found["levels"][level]["knn"][1]["top1"].get<double>();
    };
    const std::string scores = fmt::format("  {:8.2f}  {:8.2f}\n", percent(0), percent(1));
    EXPECT_THAT(text.out, HasSubstr("\nkNN top-1 by level, %, of the best k\n"
                                    "model       group     class\n"
                                    "classes         2         3\n"
                                    "m      " +
                                    scores + "second " + scores));
    const nlohmann::json one = json(
        Words{"eval", "--data", uri() + "&level=one", "--knn", uri() + "&level=∅", "--k", "3"} +
        weights());
    EXPECT_EQ(one["knn"][0]["top1"], 1);
}

// Equation 2.5 with the model's own classifier in place of the neighbours'.
TEST_F(Search, EvalConditionsOnTheSoftmax) {
    Model model = tiny_cait("1");  // of three classes
    model.set_classes({"class2", "class0", "class1"});
    model.save(folder_ / "named.safetensors");
    const Words words{"eval",        "--weights", path("named.safetensors"), "--data", uri(),
                      "--retrieval", uri(),       "--conditional",           "class"};
    const nlohmann::json knn = json(words + Words{"--k", "3"}),
                         softmax = json(words + Words{"--conditional-by", "softmax"});
    EXPECT_EQ(knn["retrieval"]["conditional"]["by"], "knn");
    EXPECT_EQ(softmax["retrieval"]["conditional"]["by"], "softmax");
    EXPECT_EQ(softmax["retrieval"]["map"], knn["retrieval"]["map"]);
    EXPECT_EQ(softmax["retrieval"]["oracle"], knn["retrieval"]["oracle"]);
    EXPECT_NE(softmax["retrieval"]["conditional"]["map"], softmax["retrieval"]["map"]);

    const Words coarse{"eval", "--data",           uri(),    "--retrieval",
                       uri(),  "--conditional-by", "softmax"};
    expect_refused(
        cait(coarse + Words{"--weights", path("named.safetensors"), "--conditional", "group"}), 1,
        {"named.safetensors: its classifier does not know the classes of level"});
    expect_refused(cait(coarse + weights()), 2,
                   {"--conditional-by softmax: expected --conditional"});
}

TEST_F(Search, EvalRefusesWhatCannotBeJudged) {
    const auto run = [&](const Words& more) {
        return cait(Words{"eval", "--data", uri()} + weights() + more);
    };
    expect_refused(run({"--knn", uri(), "--k", "30"}), 2, {"--k: expected at most 24", "found 30"});
    expect_refused(run({"--knn", uri()}), 2, {"--k: expected at most 24"});  // the default's 30
    const std::string plain = "folder:" + path("set");
    expect_refused(run({"--knn", plain, "--k", "3", "--levels"}), 2,
                   {"level 'group': its images are labelled at one level only"});
    expect_refused(run({"--retrieval", uri(), "--conditional", "genus"}), 2,
                   {"level 'genus': expected one of group, class"});
    std::filesystem::create_directories(path("empty/class0"));
    expect_refused(run({"--knn", "folder:" + path("empty"), "--k", "3"}), 1,
                   {"class folder 'class0' holds no"});
    expect_refused(run({"--knn", uri(), "--k", "3", "--per-class"}), 2,
                   {"--per-class is about a model's answers"});
    expect_refused(run({"--levels"}), 2, {"--levels: expected --knn or --retrieval"});
    expect_refused(run({"--knn", uri(), "--k", "0"}), 2, {"--k"});
}

}  // namespace
}  // namespace cait::e2e
