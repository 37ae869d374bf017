// `cait predict` with files as people have them: names, folders, broken images,
// full disks.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/photo_list.h"
#include "e2e/tiny_models.h"
#include "image/codec/decode.h"
#include "support/looking_model.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Words kTinyWeights = Words{"--weights", data("tiny_cait_zip.pth")} + kTinyCait;

class Predict : public InFolder {
protected:
    Predict() {
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7, 60, 40)));
        data_test::put(folder_ / "b.png", data_test::png(data_test::numbered_image(90, 20, 30)));
    }
    // A published model of 1000 classes: no names in the file.
    Words thousand() const {
        Model::create("cait_xxs24_224", {{"image_size", "16"},
                                         {"patch", "8"},
                                         {"dim", "16"},
                                         {"depth", "1"},
                                         {"heads", "2"},
                                         {"class_layers", "1"}})
            .save(folder_ / "thousand.safetensors");
        return {"--weights", path("thousand.safetensors")};
    }
};

TEST_F(Predict, AnUnreadableImageCostsOnlyItsOwnAnswer) {
    write("bad.png", "no image");
    const Words images{path("a.png"), path("bad.png"), path("none.png"), path("b.png")};
    const Finished run = cait(Words{"predict"} + images + kTinyWeights);
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.out, AllOf(HasSubstr("a.png  "), HasSubstr("b.png  "), Not(HasSubstr("bad"))));
    EXPECT_THAT(run.err, AllOf(HasSubstr("bad.png: expected a JPEG, PNG or WebP image"),
                               HasSubstr("none.png: cannot open")));
    const Finished json = cait(Words{"predict", "--json"} + images + kTinyWeights);
    EXPECT_EQ(json.status, 1);
    EXPECT_EQ(nlohmann::json::parse(json.out).size(), 2U);
    const Finished none = cait(Words{"predict", path("bad.png")} + kTinyWeights);
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.out, "");
}

// More of them in a row than training would try to replace.
TEST_F(Predict, AThousandUnreadableImagesInARowAreEachReported) {
    constexpr int kBad = 1200;
    const auto name = [](int i) { return fmt::format("pictures/{:04}.png", i); };
    std::filesystem::create_directories(folder_ / "pictures");
    for (int i = 1; i <= kBad; ++i) write(name(i), "no image");
    std::filesystem::copy_file(folder_ / "a.png", folder_ / name(0));
    std::filesystem::copy_file(folder_ / "b.png", folder_ / name(kBad + 1));
    const Finished run = cait(Words{"predict", "--json", path("pictures")} + kTinyWeights);
    EXPECT_EQ(run.status, 1);
    const auto answers = nlohmann::json::parse(run.out);
    const auto alone = nlohmann::json::parse(
        cait(Words{"predict", "--json", path("a.png"), path("b.png")} + kTinyWeights).out);
    ASSERT_EQ(answers.size(), 2U);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_EQ(answers[i]["image"], path(name(i == 0 ? 0 : kBad + 1)));
        EXPECT_EQ(answers[i]["predictions"], alone[i]["predictions"]);
    }
    std::istringstream lines(run.err);
    int next = 1;
    for (std::string line; std::getline(lines, line);)
        if (line.find("expected a JPEG") != std::string::npos) {
            EXPECT_THAT(line, HasSubstr(name(next)));
            ++next;
        }
    EXPECT_EQ(next, kBad + 1);
    EXPECT_THAT(run.err, HasSubstr("1200 of 1202 images could not be read"));
}

TEST_F(Predict, AnswersThatCannotBePrintedAreAnError) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
    std::string command = program() + " predict '" + path("a.png") + "'";
    for (const std::string& word : kTinyWeights) command += " '" + word + "'";
    const int status = std::system((command + " >/dev/full 2>'" + path("err.txt") + "'").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(read(path("err.txt")), HasSubstr("cannot write the output"));
}

TEST_F(Predict, PublishedHeadsAnswerWithImageNetsNames) {
    const Finished run = cait(Words{"predict", path("a.png")} + thousand());
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("class ")));
    EXPECT_THAT(run.err, HasSubstr("the names are those of ImageNet-1k"));
    // A head that was rebuilt knows no class yet.
    const Finished fresh = cait(Words{"predict", path("a.png"), "--allow-fresh-head"} +
                                kTinyWeights + Words{"--set", "model.classes=1000"});
    EXPECT_THAT(fresh.out, HasSubstr("class "));
}

TEST_F(Predict, AFileGivesTheClassesTheirNames) {
    write("names.txt", "red thing\ngreen thing\nblue thing\n");
    const Finished run =
        cait(Words{"predict", path("a.png"), "--classes", path("names.txt")} + kTinyWeights);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("red thing "), HasSubstr("blue thing ")));
    write("two.txt", "red\ngreen\n");
    expect_refused(
        cait(Words{"predict", path("a.png"), "--classes", path("two.txt")} + kTinyWeights), 1,
        {"two.txt: expected 3 class names", "found 2"});
    // They stay with the model that convert writes.
    ASSERT_EQ(cait(Words{"convert", data("tiny_cait_zip.pth"), path("n.safetensors"), "--classes",
                         path("names.txt")} +
                   kTinyCait)
                  .status,
              0);
    EXPECT_THAT(cait({"predict", path("a.png"), "--weights", path("n.safetensors")}).out,
                HasSubstr("green thing "));
}

// A device, or a program that never ends a line.
TEST_F(Predict, AListIsLimited) {
    const Words words = Words{"predict", "-"} + kTinyWeights;
    const auto fed = [&](const std::string& source) {
        return by_shell(source + " | \"$@\"", words);
    };
    const std::pair<Finished, const char*> runs[] = {
        {by_shell("\"$@\" < /dev/zero", words), "standard input:1: expected text, found a byte"},
        {fed("tr '\\0' x < /dev/zero"), "standard input:1: expected at most 4096 bytes in a line"},
        {fed("(echo one; tr '\\0' '\\n' < /dev/zero)"), "at most 10000000 lines"}};
    for (const auto& [run, message] : runs) {
        EXPECT_EQ(run.status, 1);
        EXPECT_THAT(run.err, AllOf(HasSubstr("cait: "), HasSubstr(message)));
        EXPECT_EQ(run.out, "");
    }
    if (!kSanitized) {
        EXPECT_LT(runs[0].first.peak_kilobytes, 100'000);
        EXPECT_LT(runs[1].first.peak_kilobytes, 100'000);
    }
    write("list.txt", path("a.png") + "\n" + std::string(5000, 'x') + "\n");
    expect_refused(cait(Words{"predict", path("list.txt")} + kTinyWeights), 1,
                   {"list.txt:2: expected at most 4096 bytes in a line"});
}

TEST_F(Predict, WrongWordsAreFoundBeforeAnythingIsRead) {
    expect_refused(cait({"predict", "--weights", path("none.pth")}), 2, {"image files or --data"});
}

TEST_F(Predict, OtherImageFormatsAreNamed) {
    write("a.gif", "GIF89a rest");
    expect_refused(cait(Words{"predict", path("a.gif")} + kTinyWeights), 1,
                   {"a.gif: expected a JPEG, PNG or WebP image, found a GIF; convert it"});
}

TEST_F(Predict, TakesFoldersPatternsAndLists) {
    for (const char* place : {"in/one/1.png", "in/one/2.png", "in/two/3.png"})
        data_test::put(folder_ / place, data_test::png(data_test::numbered_image(9, 8, 8)));
    const auto images = [&](const Words& words) {
        const Finished run = cait(Words{"predict", "--jsonl"} + words + kTinyWeights);
        EXPECT_EQ(run.status, 0) << run.err;
        std::vector<std::string> names;
        std::istringstream lines(run.out);
        for (std::string line; std::getline(lines, line);)
            names.push_back(
                std::filesystem::path(nlohmann::json::parse(line).at("image").get<std::string>())
                    .filename());
        return names;
    };
    EXPECT_THAT(images({path("in")}), testing::ElementsAre("1.png", "2.png", "3.png"));
    EXPECT_THAT(images({path("in/one/*.png"), path("b.png")}),
                testing::ElementsAre("1.png", "2.png", "b.png"));
    write("list.txt", path("b.png") + "\r\n\n" + path("a.png") + "\n");
    EXPECT_THAT(images({path("list.txt")}), testing::ElementsAre("b.png", "a.png"));
    std::string command = "ls '" + path("in/one") + "'/*.png | " + program() + " predict -";
    for (const std::string& word : kTinyWeights) command += " '" + word + "'";
    EXPECT_EQ(std::system((command + " > '" + path("out.txt") + "'").c_str()), 0);
    EXPECT_THAT(read(path("out.txt")), AllOf(HasSubstr("1.png  "), HasSubstr("2.png  ")));
    std::filesystem::create_directories(folder_ / "empty");
    expect_refused(cait(Words{"predict", path("empty")} + kTinyWeights), 1,
                   {"empty: expected a folder"});
    expect_refused(cait(Words{"predict", path("*.webp")} + kTinyWeights), 1,
                   {"expected files that fit"});
    expect_refused(cait(Words{"predict", path("none.txt")} + kTinyWeights), 1,
                   {"none.txt: cannot open"});
}

TEST_F(Predict, KnownClassesStandBesideTheAnswers) {
    write("names.txt", "cat\ndog\nelk\n");
    for (const char* place : {"in/cat/1.png", "in/dog/2.png", "in/fox/3.png"})
        data_test::put(folder_ / place, data_test::png(data_test::numbered_image(9, 8, 8)));
    const Words words = Words{"predict", path("in"), "--classes", path("names.txt"),  "--csv",
                              "--top",   "1",        "--output",  path("answers.csv")} +
                        kTinyWeights;
    const Finished run = cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("of 2 images with a known class are right"));
    EXPECT_THAT(read(path("answers.csv")), AllOf(testing::StartsWith("image,label,class1,score1\n"),
                                                 HasSubstr("1.png,cat,"), HasSubstr("3.png,,")));
    expect_refused(cait(Words{"predict", path("a.png"), "--csv", "--json"} + kTinyWeights), 2,
                   {"csv"});
}

TEST_F(Predict, BatchesAgreeAndRoundingIsSmall) {
    const auto scores = [&](const Words& more) {
        const Finished run =
            cait(Words{"predict", path("a.png"), path("b.png"), "--json"} + more + kTinyWeights);
        EXPECT_EQ(run.status, 0) << run.err;
        std::vector<double> values;
        for (const auto& image : nlohmann::json::parse(run.out))
            for (const auto& answer : image.at("predictions")) values.push_back(answer.at("score"));
        return values;
    };
    const std::vector<double> expected = scores({});
    EXPECT_EQ(scores({"--batch", "1"}), expected);
    EXPECT_NE(scores({"--tta", "flip"}), expected);
    const std::vector<double> rounded = scores({"--precision", "bf16"});
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(rounded[i], expected[i], 0.02);
    // Only forward and eval run on LibTorch, too.
    expect_refused(cait(Words{"predict", path("a.png"), "--executor", "torch"} + kTinyWeights), 2,
                   {"--executor"});
}

TEST_F(Predict, MemoryDoesNotGrowWithTheNumberOfPhotographs) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    expect_memory_stays(folder_, 200, 3000, [](const std::string& list) {
        return Words{"predict", list} + kTinyWeights;
    });
}

}  // namespace
}  // namespace cait::e2e
