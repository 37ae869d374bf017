// `cait eval` on a tiny data set: the numbers, the page, several models, and what it refuses.
// Built only with LibTorch.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Eval : public InFolder {
protected:
    Eval() { data_test::put_class_folders(folder_ / "set", 3, 8); }

    Words words(const Words& more = {}) const {
        return Words{"eval", "--weights", e2e::data("tiny_cait_zip.pth"), "--data",
                     "folder:" + path("set")} +
               kTinyCait + more;
    }
    nlohmann::json json(const Words& more = {}) const {
        const Finished run = cait(words(more + Words{"--json"}));
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out);
    }
};

TEST_F(Eval, MeasuresAModel) {
    const Finished text = cait(words());
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("top-1 "), HasSubstr("loss "), HasSubstr("ECE "),
                                HasSubstr("cait_xxs24_224"), HasSubstr("images       24")));
    EXPECT_THAT(text.err, AllOf(HasSubstr("does not say how images are prepared; assumed for "
                                          "cait_xxs24_224: crop ratio 1, centre, bicubic"),
                                HasSubstr("does not name its 3 classes: they are taken in the "
                                          "data's order")));

    const nlohmann::json found = json({"--per-class"});
    EXPECT_EQ(found["images"], 24);
    EXPECT_EQ(found["skipped"], 0);
    EXPECT_EQ(found["top5"], 1);        // of three classes
    EXPECT_EQ(found["crop_ratio"], 1);  // CaiT's
    EXPECT_GT(found["loss"], 0);
    std::size_t correct = 0;
    for (const nlohmann::json& one : found["per_class"]) {
        EXPECT_EQ(one["images"], 8);
        correct += one["correct"].get<std::size_t>();
    }
    EXPECT_NEAR(found["top1"].get<double>(), double(correct) / 24, 1e-12);
    std::size_t in_bins = 0;
    for (const nlohmann::json& bin : found["reliability"])
        in_bins += bin["images"].get<std::size_t>();
    EXPECT_EQ(in_bins, 24U);
    EXPECT_EQ(found["worst"].size(), 24 - correct);
}

// A list in another order than the numbers that its classes are called by: names decide, whatever
// the data set is, and a line says so where positions were possible.
TEST_F(Eval, ClassesThatAreNumbersAreMatchedByName) {
    std::string table = "path,label\n";
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 4; ++i) {
            const std::string name = std::to_string(c) + "/" + std::to_string(i) + ".png";
            data_test::put_image(folder_ / "numbers" / name, 60 * c + i);
            table += "numbers/" + name + "," + std::to_string(c) + "\n";
        }
    write("list.csv", table);
    write("classes.txt", "2\n0\n1\n");
    Model model = tiny_cait("1");
    model.set_classes({"2", "0", "1"});
    model.save(folder_ / "numbers.safetensors");
    const auto eval = [&](const std::string& uri) {
        return cait({"eval", "--json", "--weights", path("numbers.safetensors"), "--data", uri});
    };
    const auto scores = [](const Finished& run) {
        EXPECT_EQ(run.status, 0) << run.err;
        const nlohmann::json found = nlohmann::json::parse(run.out);
        return std::pair(found["top1"].get<double>(), found["loss"].get<double>());
    };
    const std::string list = "?classes=" + path("classes.txt");
    const Finished folder = eval("folder:" + path("numbers") + list);
    const Finished table_run = eval("csv:" + path("list.csv") + list);
    EXPECT_EQ(scores(table_run), scores(folder));
    EXPECT_EQ(folder.err, "");
    EXPECT_THAT(table_run.err, AllOf(HasSubstr("note: " + path("list.csv")),
                                     HasSubstr("labels are taken for names of classes")));
    // By the model's names alone.
    const Finished plain = eval("csv:" + path("list.csv"));
    EXPECT_EQ(scores(plain), scores(folder));
    EXPECT_THAT(plain.err, HasSubstr("labels are taken for names of classes"));
    EXPECT_THAT(cait({"data", "stats", "csv:" + path("list.csv") + list}).err,
                HasSubstr("labels are taken for names of classes"));
}

// Table 3.3 of the thesis, in one evaluation.
TEST_F(Eval, TellsWhatEachOfTwoHeadsGetsRight) {
    Model::create("deit_tiny_distilled_patch16_224",
                  {{"image_size", "16"},
                   {"patch", "8"},
                   {"dim", "16"},
                   {"depth", "1"},
                   {"heads", "2"},
                   {"classes", "3"}},
                  5)
        .save(folder_ / "two.safetensors");
    const Words two{"eval", "--weights", path("two.safetensors"), "--data",
                    "folder:" + path("set")};
    const Finished text = cait(two + Words{"--report", path("r.html")});
    ASSERT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("\nhead "), HasSubstr("\nclass  "),
                                HasSubstr("\ndistillation "), HasSubstr("\nboth ")));
    EXPECT_THAT(read(path("r.html")), HasSubstr("What each head alone would answer"));
    const nlohmann::json found = nlohmann::json::parse(cait(two + Words{"--json"}).out);
    EXPECT_EQ(found["heads"]["both"]["top1"], found["top1"]);
    EXPECT_EQ(found["heads"]["both"]["loss"], found["loss"]);
    EXPECT_NE(found["heads"]["class"]["loss"], found["heads"]["distillation"]["loss"]);
    EXPECT_FALSE(json().contains("heads"));  // CaiT has one
}

TEST_F(Eval, BatchAndThreadsChangeNothing) {
    const nlohmann::json one = json({"--batch", "1", "--threads", "1"});
    const nlohmann::json many = json({"--batch", "24", "--threads", "3"});
    EXPECT_EQ(one["top1"], many["top1"]);
    EXPECT_NEAR(one["loss"].get<double>(), many["loss"].get<double>(), 1e-5);
    const nlohmann::json flipped = json({"--tta", "flip"});
    EXPECT_NE(one["loss"], flipped["loss"]);
    EXPECT_NE(one["loss"], json({"--crop-ratio", "0.5"})["loss"]);
    EXPECT_NEAR(one["loss"].get<double>(), json({"--precision", "bf16"})["loss"].get<double>(),
                0.05);
}

TEST_F(Eval, JoinsTwoHeadsByLogitsOrByProbabilities) {
    Model::create("deit_tiny_distilled_patch16_224", {{"image_size", "16"},
                                                      {"patch", "8"},
                                                      {"dim", "16"},
                                                      {"depth", "1"},
                                                      {"heads", "2"},
                                                      {"classes", "3"}})
        .save(folder_ / "two.safetensors");
    const auto loss = [&](const std::string& fusion) {
        const Finished run = cait({"eval", "--weights", path("two.safetensors"), "--data",
                                   "folder:" + path("set"), "--json", "--fusion", fusion});
        EXPECT_EQ(run.status, 0) << run.err;
        const nlohmann::json found = nlohmann::json::parse(run.out);
        EXPECT_EQ(found["fusion"], fusion);
        return found["loss"].get<double>();
    };
    EXPECT_NE(loss("logits"), loss("softmax"));
    expect_refused(cait(words({"--fusion", "softmax"})), 2,
                   {"--fusion softmax: expected a model with a distillation head, found "
                    "cait_xxs24_224"});
}

TEST_F(Eval, WritesAPage) {
    std::filesystem::rename(folder_ / "set/class1", folder_ / "set/<b>bold");
    const Finished run = cait(words({"--report", path("r.html")}));
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("report: " + path("r.html")));
    const std::string html = read(path("r.html"));
    EXPECT_THAT(html, AllOf(HasSubstr("Most confident mistakes"), HasSubstr("&lt;b&gt;bold"),
                            Not(HasSubstr("<b>bold")), HasSubstr("data:image/png;base64,")));
    expect_refused(cait(words({"--report", path("none/r.html")})), 1, {"none/r.html"});
}

TEST_F(Eval, WhatCannotWorkIsFoundBeforeTheWork) {
    // An unreadable image would be the first thing that the evaluation stumbles over.
    data_test::put(folder_ / "set/class1/3.png", "not an image");
    for (const char* option : {"--report", "--predictions"}) {
        expect_refused(cait(words({option, path("none/out")})), 1, {"none/out: cannot create"});
        expect_refused(cait(words({option, path("set")})), 1, {"set: expected", "a folder"});
    }
    expect_refused(cait(words({"--compare", "last=" + path("none.pth")})), 1,
                   {"none.pth: cannot open"});
    expect_refused(cait({"eval", "--weights", e2e::data("tiny_cait_zip.pth"), "--data",
                         "folder:" + path("set"), "--compare", "last=official"}),
                   2, {"--compare last=official", "unknown model 'last'"});
    expect_refused(cait(words({"--compare", "cait_xxs24_224=" + e2e::data("tiny_cait_zip.pth")})),
                   1, {"tiny_cait_zip.pth", "missing"});
}

TEST_F(Eval, WritesWhatTheModelAnsweredToEveryImage) {
    std::filesystem::rename(folder_ / "set/class1", folder_ / "set/a \"big\", one");
    const Finished run = cait(words({"--predictions", path("p.csv"), "--json"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string table = read(path("p.csv"));
    EXPECT_THAT(table, testing::StartsWith("path,label,answer1,score1,answer2,score2,answer3,"
                                           "score3\n\"" +
                                           path("set/a \"\"big\"\", one/0.png") +
                                           "\",\"a \"\"big\"\", one\","));
    EXPECT_EQ(std::ranges::count(table, '\n'), 25);
}

TEST_F(Eval, PublishedWeightsAndFoldersOfWordNetIdsMeetByName) {
    Model::create("cait_xxs24_224", {{"image_size", "16"},
                                     {"patch", "8"},
                                     {"dim", "16"},
                                     {"depth", "1"},
                                     {"heads", "2"},
                                     {"class_layers", "1"}})
        .save(folder_ / "thousand.safetensors");
    data_test::put_image(folder_ / "ids/n02979186/0.png");
    const Words eval{
        "eval",       "--weights", path("thousand.safetensors"), "--data", "folder:" + path("ids"),
        "--per-class"};
    const Finished run = cait(eval);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("cassette player"));
    EXPECT_THAT(run.err, HasSubstr("the names are those of ImageNet-1k"));
}

TEST_F(Eval, AFileNamesTheClasses) {
    data_test::put(folder_ / "names.txt", "class2\nclass0\nclass1\n");
    EXPECT_NE(json()["loss"], json({"--classes", path("names.txt")})["loss"]);
    data_test::put(folder_ / "names.txt", "class2\nclass0\n");
    expect_refused(cait(words({"--classes", path("names.txt")})), 1,
                   {"names.txt: expected 3 class names", "found 2"});
}

TEST_F(Eval, ComparesSeveralModels) {
    ASSERT_EQ(
        cait(Words{"convert", e2e::data("tiny_cait_zip.pth"), path("same.safetensors")} + kTinyCait)
            .status,
        0);
    ASSERT_EQ(
        cait(Words{"convert", e2e::data("tiny_deit3_timm.safetensors"), path("other.safetensors")} +
             kTinyDeit3)
            .status,
        0);
    const nlohmann::json found =
        json({"--compare", path("same.safetensors"), path("other.safetensors")});
    ASSERT_EQ(found["compared"].size(), 2U);
    EXPECT_EQ(found["compared"][1]["model"], "deit3_small_patch16_224");
    const nlohmann::json& table = found["disagreement"];
    EXPECT_EQ(table["names"],
              (std::vector<std::string>{"labels", "tiny_cait_zip", "same", "other"}));
    EXPECT_EQ(table["fractions"][1][2], 0);  // the same weights
    // NAME=FILE names what is compared, as in `cait analyze`.
    EXPECT_EQ(json({"--compare", "copy=" + path("same.safetensors")})["disagreement"]["names"],
              (std::vector<std::string>{"labels", "tiny_cait_zip", "copy"}));
    EXPECT_NEAR(table["fractions"][0][1].get<double>(), 1 - found["top1"].get<double>(), 1e-12);
    EXPECT_NEAR(table["fractions"][0][3].get<double>(),
                1 - found["compared"][1]["top1"].get<double>(), 1e-12);
    const Finished text = cait(words({"--compare", path("same.safetensors")}));
    EXPECT_THAT(text.out, HasSubstr("on which two decide differently"));
}

TEST_F(Eval, UnreadableImagesAreRefusedOrCounted) {
    data_test::put(folder_ / "set/class1/3.png", "not an image");
    expect_refused(cait(words()), 1, {"class1/3.png", "evaluation refuses unreadable images"});
    const Finished run = cait(words({"--skip-bad", "--json"}));
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("note: left out: "));
    const nlohmann::json found = nlohmann::json::parse(run.out);
    EXPECT_EQ(found["images"], 23);
    EXPECT_EQ(found["skipped"], 1);
    data_test::put(folder_ / "set/class1/4.png", "");
    expect_refused(cait(words({"--skip-bad"})), 1, {"more than 5 %", "class1/4.png"});
}

TEST_F(Eval, RefusesWhatDoesNotFit) {
    data_test::put_image(folder_ / "set/fourth/0.png");
    expect_refused(cait(words()), 1, {"expected the 3 classes of", "found 4", "?classes=FILE"});
    expect_refused(cait({"eval", "--data", "folder:" + path("set")}), 2, {"--weights"});
    expect_refused(cait(words({"--tta", "ten-crop"})), 2, {"--tta"});
    expect_refused(cait(words({"--batch", "0"})), 2, {"--batch"});
    expect_refused(cait(words({"--crop-ratio", "nan"})), 2, {"--crop-ratio"});
    expect_refused(cait(words({"--compare", path("none.pth")})), 1, {"none.pth: cannot open"});
    expect_refused(cait({"eval", "--weights", e2e::data("tiny_cait_zip.pth"), "--data",
                         "folder:" + path("set")}),
                   2, {"does not say which model it is"});
    EXPECT_THAT(cait({"eval", "--help"}).out,
                AllOf(HasSubstr("Example:"), HasSubstr("--skip-bad")));
}

}  // namespace
}  // namespace cait::e2e
