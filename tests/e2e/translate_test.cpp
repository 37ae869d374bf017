// `cait translate` and `cait eval` of a model that translates, as scripts use them.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cait/translator.h"
#include "e2e/tiny_models.h"
#include "support/tiny_translator.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Translate : public InFolder {
protected:
    Translate() {
        model_.save(path("model.safetensors"));
        write("lines.en", joined(lines_));
    }

    static std::string joined(const std::vector<std::string>& lines) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        return text;
    }
    static std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> lines;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }
    Words words(const Words& more = {}) const {
        return Words{"translate", "--weights", path("model.safetensors")} + more;
    }
    // With a file as standard input.
    Finished fed(const std::string& file, const Words& more = {}) const {
        return by_shell(fmt::format("\"$@\" < '{}'", path(file)), words(more));
    }
    std::vector<std::string> by_library(const TranslateOptions& options = {}) const {
        std::vector<std::string> texts;
        for (const auto& found : Translator(model_).translate(lines_, options))
            texts.push_back(found[0].text);
        return texts;
    }

    Model model_ = test::tiny_translator();
    std::vector<std::string> lines_ = {"the dog runs .", "", "a small cat sleeps in the house .",
                                       "two", "a woman sings near the river and the tree ."};
};

TEST_F(Translate, AnswersEachLineInOrder) {
    const Finished run = fed("lines.en");
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(split(run.out), by_library());
    EXPECT_EQ(run.err, "");
    const Finished file = cait(words({"--input", path("lines.en"), "--output", path("lines.de"),
                                      "--beam", "2", "--length-penalty", "0.5", "--threads", "1"}));
    ASSERT_EQ(file.status, 0) << file.err;
    EXPECT_EQ(file.out, "");
    EXPECT_EQ(split(read(path("lines.de"))), by_library({.beam = 2, .length_penalty = 0.5}));
}

TEST_F(Translate, EndsOfLinesAreThoseOfTheInput) {
    write("windows.en", "the dog runs .\r\n\r\ntwo");  // no end behind the last one
    const Finished run = fed("windows.en");
    ASSERT_EQ(run.status, 0) << run.err;
    const auto found = split(run.out), expected = by_library();
    EXPECT_EQ(found, (std::vector<std::string>{expected[0], "", expected[3]}));
    write("nothing.en", "");
    EXPECT_EQ(fed("nothing.en").out, "");
}

TEST_F(Translate, JsonHasScoresAndPieces) {
    const Finished run = fed("lines.en", {"--json", "--best", "3", "--attention"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto lines = split(run.out);
    ASSERT_EQ(lines.size(), lines_.size());
    const auto found = Translator(model_).translate(lines_, {.best = 3, .attention = true});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const json one = json::parse(lines[i]);
        EXPECT_EQ(one.at("line"), i + 1);
        EXPECT_EQ(one.at("source"), lines_[i]);
        ASSERT_EQ(one.at("translations").size(), found[i].size());
        for (std::size_t k = 0; k < found[i].size(); ++k) {
            const json& said = one["translations"][k];
            EXPECT_EQ(said.at("text"), found[i][k].text);
            EXPECT_NEAR(said.at("score").get<double>(), found[i][k].score, 1e-5);
            EXPECT_EQ(said.at("pieces").size(), found[i][k].pieces.size());
            EXPECT_EQ(said.at("piece_scores").size(), found[i][k].pieces.size());
            if (!lines_[i].empty()) {
                EXPECT_EQ(said.at("attention").size(), found[i][k].pieces.size());
                EXPECT_EQ(said.at("attention")[0].size(), said.at("source_pieces").size());
            }
        }
    }
}

TEST_F(Translate, SeveralOfALineCarryItsNumber) {
    const Finished run = fed("lines.en", {"--best", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto found = Translator(model_).translate(lines_, {.best = 2});
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const Translation& one : found[i])
            expected.push_back(fmt::format("{}\t{:.3f}", i + 1, one.score) + "\t" + one.text);
    const auto lines = split(run.out);
    ASSERT_EQ(lines.size(), expected.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i].substr(lines[i].rfind('\t')),
                  expected[i].substr(expected[i].rfind('\t')));
        EXPECT_EQ(lines[i].substr(0, lines[i].find('\t')),
                  expected[i].substr(0, expected[i].find('\t')));
    }
}

TEST_F(Translate, ModelsTogetherAreAnEnsemble) {
    const Model second = test::tiny_translator({.seed = 2});
    second.save(path("second.safetensors"));
    const Finished run =
        by_shell(fmt::format("\"$@\" < '{}'", path("lines.en")),
                 {"translate", "--weights", path("model.safetensors"), path("second.safetensors")});
    ASSERT_EQ(run.status, 0) << run.err;
    const std::vector<Model> both{model_, second};
    std::vector<std::string> expected;
    for (const auto& found : Translator(std::span<const Model>(both)).translate(lines_))
        expected.push_back(found[0].text);
    EXPECT_EQ(split(run.out), expected);
}

// What stands before a bad line is answered, and the line is named.
TEST_F(Translate, ABadLineIsNamed) {
    std::string far;
    for (int i = 0; i < 30; ++i) far += "dog ";
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"a \xff b", "UTF-8"},
        {std::string("a\0b", 3), ""},
        {std::string(10'000'000, 'x'), ""},
        {far, "at most 24 pieces"}};
    const auto expected = by_library();
    for (const auto& [line, reason] : bad) {
        write("bad.en", lines_[0] + "\n" + lines_[1] + "\n" + line + "\n" + lines_[2] + "\n");
        const Finished run = fed("bad.en");
        EXPECT_EQ(run.status, 1);
        EXPECT_THAT(run.err, AllOf(HasSubstr("standard input:3"), HasSubstr(reason)));
        EXPECT_EQ(split(run.out), (std::vector<std::string>{expected[0], expected[1]}));
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 200'000);
        }
        const Finished skipped = fed("bad.en", {"--skip-bad"});
        EXPECT_EQ(skipped.status, 1);
        EXPECT_EQ(split(skipped.out),
                  (std::vector<std::string>{expected[0], expected[1], "", expected[2]}));
        EXPECT_THAT(skipped.err, HasSubstr("standard input:3"));
        EXPECT_THAT(skipped.err, HasSubstr("1 lines could not be translated"));
    }
    write("far.en", far + "\n");
    EXPECT_EQ(fed("far.en", {"--cut"}).status, 0);
}

TEST_F(Translate, AnyNumberOfLinesTakesTheSameMemory) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    std::string few, many;
    for (int i = 0; i < 2100; ++i) few += lines_[std::size_t(i) % 5] + "\n";
    for (int i = 0; i < 4; ++i) many += few;
    write("few.en", few);
    write("many.en", many);
    const Finished short_run = fed("few.en", {"--beam", "1"}),
                   run = fed("many.en", {"--beam", "1"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(split(run.out).size(), 8400U);
    EXPECT_LT(run.peak_kilobytes, short_run.peak_kilobytes + 10'000);
}

TEST_F(Translate, EndsQuietlyWithItsReader) {
    std::string many;
    for (int i = 0; i < 6000; ++i) many += lines_[2] + "\n";
    write("many.en", many);
    const Finished run = by_shell(
        fmt::format("(\"$@\" < '{}'; echo $? > '{}') | head -n 1", path("many.en"), path("status")),
        words({"--beam", "1"}));
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(split(run.out).size(), 1U);
    EXPECT_EQ(read(path("status")), "141\n");
}

TEST_F(Translate, RefusesWhatMakesNoSense) {
    expect_refused(cait(words({"--best", "5"})), 2, {"--best", "beam"});
    expect_refused(cait(words({"--attention"})), 2, {"--attention", "--json"});
    expect_refused(cait(words({"--published-codes", "x"})), 2, {"--published-dictionary"});
    expect_refused(cait(words({"--source", "en"})), 2, {"--source"});
    expect_refused(cait(words({"--input", path("absent.en")})), 1, {"absent.en"});
    expect_refused(cait(words({"--input", path("lines.en"), "--output", path("lines.en")})), 2,
                   {"lines.en"});
    tiny_cait().save(path("cait.safetensors"));
    expect_refused(cait({"translate", "--weights", path("cait.safetensors")}), 2,
                   {"expected a model that translates"});
}

TEST_F(Translate, IsBenchedBySentences) {
    const Finished run = cait({"bench", path("model.safetensors"), "--batch", "1,4", "--precision",
                               "fp32,bf16", "--threads", "1", "--runs", "2", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const json list = json::parse(run.out);
    ASSERT_EQ(list.size(), 4U);
    for (const json& one : list) {
        EXPECT_EQ(one.at("runs"), 2);
        EXPECT_EQ(one.at("beam"), 4);
        EXPECT_NEAR(
            one.at("sentences_per_second").get<double>() * one.at("mean_ms").get<double>() / 1000,
            one.at("batch").get<double>(), 1e-9);
    }
    EXPECT_EQ(list[1].at("batch"), 4);
    EXPECT_EQ(list[3].at("precision"), "bf16");
    expect_refused(cait({"bench", path("model.safetensors"), "--layers"}), 2, {"--layers"});
}

class TranslateEval : public Translate {
protected:
    TranslateEval() {
        std::filesystem::create_directories(folder_ / "text");
        std::erase(lines_, "");
        write("text/train.en", joined(lines_));
        write("text/train.de", joined(lines_));
        write("text/val.en", joined(lines_));
        write("text/val.de", joined({"a dog runs .", "the cat sleeps in a house .", "two two",
                                     "the woman sings on a river ."}));
    }
    std::string data() const { return "text:" + path("text") + "?source=en&target=de"; }
    Finished eval(const Words& more = {}) const {
        return cait(Words{"eval", "--weights", path("model.safetensors"), "--data", data()} + more);
    }
};

TEST_F(TranslateEval, PrintsTheScoresThatScriptsRelyOn) {
    const Finished run = eval({"--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const json found = json::parse(run.out);
    EXPECT_EQ(found.at("sentences"), 4);
    EXPECT_EQ(found.at("signature"), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0");
    for (const char* score : {"bleu", "chrf", "bleu_tokenised", "bleu_split"}) {
        EXPECT_GE(found.at(score).get<double>(), 0) << score;
        EXPECT_LE(found.at(score).get<double>(), 100) << score;
    }
    EXPECT_GT(found.at("perplexity").get<double>(), 1);
    EXPECT_NEAR(std::log(found.at("perplexity").get<double>()), found.at("loss").get<double>(),
                1e-9);
    // 5 + 8 + 3 + 8 with their ends
    EXPECT_EQ(found.at("pieces"), 24);
    EXPECT_EQ(found.at("beam"), 4);
    ASSERT_EQ(found.at("worst").size(), 4U);
    EXPECT_LE(found["worst"][0].at("chrf"), found["worst"][3].at("chrf"));
    const auto expected = by_library();
    for (const json& one : found.at("examples")) {
        const auto at = std::ranges::find(lines_, one.at("source").get<std::string>());
        ASSERT_NE(at, lines_.end());
        EXPECT_EQ(one.at("translation"), expected[std::size_t(at - lines_.begin())]);
    }
    EXPECT_THAT(eval().out, HasSubstr("BLEU"));
}

// A model's own translations are perfect references.
TEST_F(TranslateEval, WhatEqualsTheReferenceIsPerfect) {
    std::vector<std::string> own;
    for (const auto& found : Translator(model_, {}, {.beam = 2}).translate(lines_))
        own.push_back(found[0].text);
    write("text/val.de", joined(own));
    const Finished run = eval({"--json", "--beam", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
    const json found = json::parse(run.out);
    EXPECT_NEAR(found.at("bleu").get<double>(), 100, 1e-6);
    EXPECT_NEAR(found.at("chrf").get<double>(), 100, 1e-6);
    EXPECT_EQ(found.at("beam"), 2);
}

TEST_F(TranslateEval, ThePageShowsSentences) {
    const Finished run = eval({"--report", path("eval.html")});
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string page = read(path("eval.html"));
    for (const char* part : {"Worst sentences", "Examples", "BLEU by words of the source",
                             "the woman sings on a river .", "tok:13a"})
        EXPECT_THAT(page, HasSubstr(part));
    EXPECT_THAT(page, Not(HasSubstr("image size")));
}

TEST_F(TranslateEval, ComparesTranslatorsAndRefusesWhatIsForImages) {
    test::tiny_translator({.seed = 2}).save(path("second.safetensors"));
    const Finished run = eval({"--json", "--compare", path("second.safetensors")});
    ASSERT_EQ(run.status, 0) << run.err;
    const json found = json::parse(run.out);
    ASSERT_EQ(found.at("compared").size(), 1U);
    EXPECT_TRUE(found["compared"][0].contains("bleu"));
    EXPECT_FALSE(found.contains("disagreement"));
    expect_refused(eval({"--tta", "flip"}), 2, {"--tta"});
    expect_refused(eval({"--per-class"}), 2, {"--per-class"});
    expect_refused(eval({"--predictions", path("x.csv")}), 2, {"--predictions"});
    expect_refused(eval({"--precision", "int8"}), 2, {"--precision"});
    tiny_cait().save(path("cait.safetensors"));
    expect_refused(cait({"eval", "--weights", path("cait.safetensors"), "--data", data()}), 2,
                   {"expected a model that translates"});
    expect_refused(cait({"eval", "--weights", path("model.safetensors"), "--data",
                         "text:" + path("text") + "?source=de&target=en"}),
                   2, {"en to de", "de to en"});
}

}  // namespace
}  // namespace cait::e2e
