// A model that translates, asked through the server: by POST /translate and by the protocol's
// texts, in good faith and in bad.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <cstring>
#include <future>
#include <nlohmann/json.hpp>

#include "cait/translator.h"
#include "e2e/served.h"
#include "support/tiny_translator.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kJson = "Content-Type: application/json\r\n";
const std::string kPlain = "Content-Type: text/plain\r\n";

class ServeTranslate : public Served {
protected:
    ServeTranslate() { test::tiny_translator().save(path("words.safetensors")); }

    void start_translator(const Words& more = {}) {
        start(Words{"words=" + path("words.safetensors"), "--bound", "60000"} + more);
    }
    Answer translate(const json& body) const {
        return ask("POST", "/translate", body.dump(), kJson);
    }
    std::vector<std::vector<Translation>> by_library(const std::vector<std::string>& lines,
                                                     const TranslateOptions& options = {}) const {
        return Translator(Model::load(path("words.safetensors")), {.threads = 1})
            .translate(lines, options);
    }
};

TEST_F(ServeTranslate, AnswersWhatTheLibraryTranslates) {
    const std::vector<std::string> lines{"a dog runs .", "",
                                         "the old man sees a tree near the river"};
    test::tiny_translator({.mixer = "resmlp", .seed = 3}).save(path("words.safetensors"));
    start_translator({"--batch", "2"});
    const json told =
        translate({{"text", lines}, {"beam", 5}, {"best", 3}, {"attention", true}}).json();
    const auto expected = by_library(lines, {.beam = 5, .best = 3, .attention = true});
    EXPECT_EQ(told["source"], "en");
    EXPECT_EQ(told["target"], "de");
    ASSERT_EQ(told["translations"].size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const json& line = told["translations"][i];
        EXPECT_EQ(line["text"], expected[i][0].text);
        EXPECT_NEAR(line["score"], expected[i][0].score, 1e-3);
        EXPECT_EQ(line["pieces"], expected[i][0].pieces);
        for (std::size_t k = 1; k < expected[i].size(); ++k)
            EXPECT_EQ(line["others"][k - 1]["text"], expected[i][k].text);
    }
    EXPECT_EQ(told["translations"][0]["source_pieces"].size(), 5U);
    EXPECT_EQ(told["translations"][0]["attention"].size(), expected[0][0].pieces.size());
    EXPECT_THAT(read(path("stderr")), HasSubstr("ms for one sentence"));
    EXPECT_EQ(stop(), 0);
}

// What `cait translate` writes, and by the same rules: a line for each line.
TEST_F(ServeTranslate, GivesTheLinesOfTheCommand) {
    const std::string text = "a dog runs .\nthe cat sleeps on the grass\n\ntwo red houses\n";
    write("lines", text);
    const Finished command = cait({"translate", "--weights", path("words.safetensors"), "--input",
                                   path("lines"), "--output", path("translated")});
    ASSERT_EQ(command.status, 0) << command.out;
    start_translator();
    EXPECT_EQ(ask("POST", "/translate?as=text", text, kPlain).body, read(path("translated")));
    EXPECT_EQ(ask("POST", "/translate", text, kPlain + "Accept: text/plain\r\n").body,
              read(path("translated")));
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeTranslate, SpeaksTheProtocol) {
    start_translator();
    const std::vector<std::string> lines{"a dog runs .", "snow"};
    const auto expected = by_library(lines);
    const json model = json::parse(ask("GET", "/v2/models/words").body);
    EXPECT_EQ(model["inputs"][0]["name"], "text");
    EXPECT_EQ(model["outputs"][0]["name"], "translation");
    const json body{
        {"inputs", {{{"name", "text"}, {"datatype", "BYTES"}, {"shape", {2}}, {"data", lines}}}}};
    const json told = ask("POST", "/v2/models/words/infer", body.dump()).json()["outputs"][0];
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(told["data"][i], expected[i][0].text);
    const Answer raw =
        ask("POST", "/v2/models/words/infer", lines[1], "Inference-Header-Content-Length: 0\r\n");
    ASSERT_EQ(raw.status, 200) << raw.body;
    const auto head = std::stoul(raw.fields.at("inference-header-content-length"));
    std::uint32_t length = 0;
    std::memcpy(&length, raw.body.data() + head, sizeof length);
    EXPECT_EQ(raw.body.substr(head + 4), expected[1][0].text);
    EXPECT_EQ(length, expected[1][0].text.size());
    EXPECT_THAT(ask("GET", "/metrics").body,
                HasSubstr("nv_inference_count{model=\"words\",version=\"1\"} 3"));
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeTranslate, RefusesWhatIsNoText) {
    start_translator();
    const std::string nul("a\0b", 3);
    for (const std::string& wrong : {std::string(), nul, std::string("\xff\xfe"),
                                     std::string("\xc0\x80"), std::string("a dog\n\xed\xa0\x80")}) {
        const Answer refused = ask("POST", "/translate", wrong, kPlain);
        EXPECT_EQ(refused.status, 400) << wrong;
        EXPECT_THAT(refused.error(), HasSubstr("expected"));
    }
    EXPECT_THAT(ask("POST", "/translate", "a dog\n\xff", kPlain).error(), HasSubstr("line 2"));
    EXPECT_EQ(ask("POST", "/translate", std::string(10 << 20, 'a'), kPlain).status, 413);
    EXPECT_EQ(ask("POST", "/translate", std::string(10 << 20, '\n'), kPlain).status, 413);
    EXPECT_EQ(ask("POST", "/translate", std::string(1 << 20, '{')).status, 400);
    EXPECT_EQ(translate({{"text", {"a\nb"}}}).status, 400);
    EXPECT_EQ(translate({{"text", "a"}, {"beam", 1000}}).status, 400);
    EXPECT_EQ(translate({{"text", std::vector<std::string>(129, "a")}}).status, 413);
    // Right to left, combining marks, and what turns the direction: text like any other.
    EXPECT_EQ(translate({{"text", "\u05d0\u05b8\u202e\u0301\U0001F600 a dog"}}).status, 200);
    EXPECT_EQ(json::parse(ask("GET", "/stats").body)["faults"], 0);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeTranslate, AModelIsAskedForItsOwnTask) {
    start_translator({"plain=" + path("tiny.safetensors")});
    for (const char* target : {"/classify", "/segment", "/detect", "/embed"})
        EXPECT_EQ(ask("POST", target, photo_).status, 400) << target;
    EXPECT_EQ(ask("POST", "/translate?model=plain", "a dog", kPlain).status, 400);
    EXPECT_EQ(ask("POST", "/classify?model=plain", photo_).status, 200);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeTranslate, ManyAskAtTheSameTime) {
    start_translator({"plain=" + path("tiny.safetensors")});
    const std::vector<std::string> lines{"a dog runs .", "the cat", "an old woman sings"};
    std::vector<std::string> expected;
    for (const auto& best : by_library(lines)) expected.push_back(best[0].text + "\n");
    std::vector<std::future<Answer>> asked;
    for (std::size_t i = 0; i < 32; ++i)
        asked.push_back(std::async(std::launch::async, [this, &lines, i] {
            return i % 4 == 3 ? ask("POST", "/classify?model=plain", photo_)
                              : ask("POST", "/translate?as=text", lines[i % 4], kPlain);
        }));
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Answer answer = asked[i].get();
        ASSERT_EQ(answer.status, 200) << answer.body;
        if (i % 4 < 3) {
            EXPECT_EQ(answer.body, expected[i % 4]);
        }
    }
    const json stats = json::parse(ask("GET", "/stats").body);
    EXPECT_EQ(stats["pending"], 0);
    EXPECT_EQ(stats["faults"], 0);
    EXPECT_EQ(stop(), 0);
}

// A file may be replaced by that of another vocabulary.
TEST_F(ServeTranslate, LoadsAnotherModelWhileItServes) {
    start_translator({"--control"});
    EXPECT_EQ(translate({{"text", "a dog"}}).status, 200);
    test::tiny_translator({.mixer = "resmlp", .seed = 9}).save(path("words.safetensors"));
    EXPECT_EQ(ask("POST", "/v2/repository/models/words/load").status, 200);
    EXPECT_EQ(translate({{"text", "a dog"}}).json()["translations"][0]["text"],
              by_library({"a dog"})[0][0].text);
    EXPECT_EQ(stop(), 0);
}

// A file of weights that nobody told what its pieces are.
TEST_F(ServeTranslate, AModelWithoutLanguagesIsRefused) {
    Model::create("resmlp_translate_small", test::tiny_translator_settings())
        .save(path("words.safetensors"));
    const Finished run = cait({"serve", path("words.safetensors"), "--port", "0"});
    EXPECT_THAT(run.status, testing::AnyOf(1, 2));
    EXPECT_THAT(run.err, testing::Not(HasSubstr("listening")));
}

TEST_F(ServeTranslate, StopsWithoutFinishingWhatNobodyWaitsFor) {
    start_translator({"--patience", "1"});
    {
        const std::string lines =
            json{{"text", std::vector<std::string>(128, "a dog runs")}}.dump();
        std::vector<HttpClient> leaving;
        for (int i = 0; i < 8; ++i) {
            leaving.push_back(client());
            leaving.back().send(
                fmt::format("POST /translate HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: "
                            "{}\r\n\r\n{}",
                            kJson, lines.size(), lines));
        }
    }
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace cait::e2e
