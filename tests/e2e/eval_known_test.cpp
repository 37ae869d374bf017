// `cait eval` and `cait search` on images whose answers and neighbours can be written down: a model
// that sees mean colours, images of one colour each, and labels that contradict them.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "e2e/tiny_models.h"
#include "image/codec/encode.h"
#include "support/colour_model.h"

namespace cait::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class EvalKnown : public InFolder {
protected:
    EvalKnown() { test::colour_model(std::log(9.0F)).save(folder_ / "m.safetensors"); }

    void put(const std::string& name, const Image& image) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        write_image(folder_ / name, image);
    }
    Words weights() const { return {"--weights", path("m.safetensors")}; }
    std::string set(const std::string& name = "set") const { return "folder:" + path(name); }
    nlohmann::json json(const Words& words) const {
        const Finished run = cait(words + weights() + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out, nullptr, false);
    }
};

// Full colours have a logit of ln 9 beside two of 0: 9/11. Pale ones have 80/255 of that.
class EvalAnswers : public EvalKnown {
protected:
    EvalAnswers() {
        const Image red = test::solid(255, 0, 0), green = test::solid(0, 255, 0),
                    pale_blue = test::solid(0, 0, 80);
        put("set/red/0.png", red);
        put("set/red/1.png", green);
        put("set/red/2.png", green);
        put("set/red/3.png", pale_blue);
        for (const char* name : {"0", "1", "2", "3"})
            put(std::string("set/green/") + name + ".png", green);
        put("set/green/4.png", pale_blue);
        put("set/blue/0.png", pale_blue);
    }

    const double sure_ = 9.0 / 11;
    const double odds_ = std::pow(9.0, 80.0 / 255);  // of pale blue
    const double unsure_ = odds_ / (odds_ + 2);
};

TEST_F(EvalAnswers, AreCountedByClassAndByConfidence) {
    const nlohmann::json found = json({"eval", "--data", set(), "--per-class"});
    EXPECT_EQ(found["images"], 10);
    EXPECT_EQ(found["top1"], 0.6);
    EXPECT_NEAR(found["mean_class_accuracy"].get<double>(), (0.25 + 0.8 + 1) / 3, 1e-12);
    const double loss = -(5 * std::log(sure_) + 2 * std::log(1.0 / 11) + std::log(unsure_) +
                          2 * std::log((1 - unsure_) / 2)) /
                        10;
    EXPECT_NEAR(found["loss"].get<double>(), loss, 1e-5);
    EXPECT_NEAR(found["ece"].get<double>(),
                0.7 * std::fabs(5.0 / 7 - sure_) + 0.3 * std::fabs(1.0 / 3 - unsure_), 1e-5);

    std::map<std::string, std::pair<int, int>> classes;
    for (const nlohmann::json& one : found["per_class"])
        classes[one["name"]] = {one["correct"], one["images"]};
    EXPECT_THAT(classes, ElementsAre(Pair("blue", Pair(1, 1)), Pair("green", Pair(4, 5)),
                                     Pair("red", Pair(1, 4))));

    ASSERT_EQ(found["reliability"].size(), 15U);
    for (std::size_t i = 0; i < 15; ++i) {
        const nlohmann::json& bin = found["reliability"][i];
        // 0.499 lies in the bin from 7/15 to 8/15, 9/11 in the one from 12/15 to 13/15.
        EXPECT_EQ(bin["images"], i == 7 ? 3 : i == 12 ? 7 : 0) << i;
        EXPECT_NEAR(bin["accuracy"].get<double>(), i == 7 ? 1.0 / 3 : i == 12 ? 5.0 / 7 : 0, 1e-12);
        EXPECT_NEAR(bin["confidence"].get<double>(), i == 7 ? unsure_ : i == 12 ? sure_ : 0, 1e-5);
    }

    std::vector<std::string> mistakes;
    for (const nlohmann::json& one : found["worst"])
        mistakes.push_back(one["label"].get<std::string>() + " as " +
                           one["predicted"].get<std::string>());
    std::ranges::sort(mistakes.begin() + 2, mistakes.end());  // as sure as each other
    EXPECT_THAT(mistakes,
                ElementsAre("red as green", "red as green", "green as blue", "red as blue"));
    EXPECT_NEAR(found["worst"][0]["confidence"].get<double>(), sure_, 1e-5);
}

TEST_F(EvalAnswers, AreThoseOfTheTableAndThePage) {
    const Finished run = cait(Words{"eval", "--data", set(), "--per-class", "--predictions",
                                    path("p.csv"), "--report", path("r.html")} +
                              weights());
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* line :
         {"top-1     60.00 %", "classes   68.33 %", "\n 25.00 %              1/4  red",
          "\n 80.00 %              4/5  green", "\n100.00 %              1/1  blue"})
        EXPECT_THAT(run.out, HasSubstr(line));
    const std::string html = read(path("r.html"));
    for (const char* cell :
         {"red as red: 25.0 %", "red as green: 50.0 %", "red as blue: 25.0 %",
          "green as red: 0.0 %", "green as green: 80.0 %", "green as blue: 20.0 %",
          "blue as red: 0.0 %", "blue as blue: 100.0 %"})
        EXPECT_THAT(html, HasSubstr(cell));
    const std::string table = read(path("p.csv"));
    EXPECT_THAT(table, HasSubstr(path("set/red/1.png") + ",red,green,0.818182,"));
    EXPECT_THAT(table, HasSubstr(path("set/green/4.png") + ",green,blue,0.49"));
}

// The same pictures lie in class a and in class b; both of class c are one picture. A query's
// nearest image is its copy, which has the wrong label but in c. Rows that are as near as each
// other come in the order of their names.
class EvalCopies : public EvalKnown {
protected:
    EvalCopies() {
        const Image red = test::solid(255, 0, 0), green = test::solid(0, 255, 0),
                    blue = test::solid(0, 0, 255);
        for (const char* label : {"a", "b"}) {
            put(std::string("set/") + label + "/0.png", red);
            put(std::string("set/") + label + "/1.png", green);
        }
        put("set/c/0.png", blue);
        put("set/c/1.png", blue);
        // The queries of another data set find what they are copies of.
        put("other/b/2.png", red);
        put("other/c/2.png", blue);
    }
};

TEST_F(EvalCopies, TheNearestIsTheCopyAndNotTheQuery) {
    const nlohmann::json found =
        json({"eval", "--data", set(), "--knn", set(), "--retrieval", set(), "--k", "1"});
    EXPECT_EQ(found["images"], 6);
    EXPECT_NEAR(found["knn"][0]["top1"].get<double>(), 2.0 / 6, 1e-12);
    const nlohmann::json& retrieval = found["retrieval"];
    EXPECT_EQ(retrieval["queries"], 6);
    EXPECT_EQ(retrieval["left_out"], 0);
    // The one other image of its class comes second for both of a, third for both of b.
    EXPECT_NEAR(retrieval["map"].get<double>(), (0.5 + 0.5 + 1.0 / 3 + 1.0 / 3 + 1 + 1) / 6, 1e-12);
    EXPECT_NEAR(retrieval["r_precision"].get<double>(), 2.0 / 6, 1e-12);
    EXPECT_NEAR(retrieval["map_at_r"].get<double>(), 2.0 / 6, 1e-12);
    EXPECT_NEAR(retrieval["recall_at"]["1"].get<double>(), 2.0 / 6, 1e-12);
    EXPECT_NEAR(retrieval["recall_at"]["5"].get<double>(), 1, 1e-12);
}

TEST_F(EvalCopies, AnotherSpellingOfTheFolderIsTheSameImages) {
    const std::string same = "folder:" + path("other/../set");
    const nlohmann::json found =
        json({"eval", "--data", set(), "--knn", same, "--retrieval", same, "--k", "1"});
    EXPECT_NEAR(found["knn"][0]["top1"].get<double>(), 2.0 / 6, 1e-12);
    EXPECT_NEAR(found["retrieval"]["recall_at"]["1"].get<double>(), 2.0 / 6, 1e-12);
}

TEST_F(EvalCopies, ImagesOfAnotherSetAreNotLeftOut) {
    const nlohmann::json found =
        json({"eval", "--data", set("other"), "--knn", set(), "--retrieval", set(), "--k", "1"});
    EXPECT_EQ(found["images"], 2);
    EXPECT_EQ(found["knn"][0]["top1"], 0.5);  // red finds a's first, blue finds c's
    // Of b: at places 2 (red) and 4 (green, after a's); of c: at 1 and 2.
    EXPECT_NEAR(found["retrieval"]["map"].get<double>(), ((1.0 / 2 + 2.0 / 4) / 2 + 1) / 2, 1e-12);
    EXPECT_EQ(found["retrieval"]["recall_at"]["1"], 0.5);
}

TEST_F(EvalCopies, GranularityDoesNotFindTheQueryEither) {
    const nlohmann::json found =
        json({"analyze", "--what", "granularity", "--data", set(), "--k", "1"});
    const nlohmann::json& level = found["models"][0]["granularity"][0];
    EXPECT_NEAR(level["top1"].get<double>(), 2.0 / 6, 1e-12) << level;
    EXPECT_NEAR(level["map"].get<double>(), 22.0 / 36, 1e-12) << level;
}

// A search shows everything that is indexed, the query's own row with its copies.
TEST_F(EvalCopies, ASearchFindsTheImageAndItsCopy) {
    const Finished made =
        cait(Words{"index", "--data", set(), "--output", path("i.faiss")} + weights());
    ASSERT_EQ(made.status, 0) << made.err;
    const nlohmann::json found =
        json({"search", "--index", path("i.faiss"), "--k", "3", path("set/b/1.png")});
    const nlohmann::json& rows = found[0]["found"];
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0]["name"], path("set/a/1.png"));
    EXPECT_EQ(rows[1]["name"], path("set/b/1.png"));
    for (const std::size_t i : {0U, 1U}) EXPECT_NEAR(rows[i]["similarity"].get<double>(), 1, 1e-6);
    EXPECT_EQ(rows[0]["labels"]["label"], "a") << rows[0];
    EXPECT_EQ(rows[1]["labels"]["label"], "b") << rows[1];
    EXPECT_NEAR(rows[2]["similarity"].get<double>(), 0, 1e-6);
}

}  // namespace
}  // namespace cait::e2e
