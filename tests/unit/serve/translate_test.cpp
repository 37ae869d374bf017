// Text in and text out, through the whole service without sockets.
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>

#include "serve/service.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<Field> kJson{{"content-type", "application/json"}};

class TranslateTest : public testing::Test {
protected:
    explicit TranslateTest(ServiceOptions options = ServiceOptions())
        : service_({translator_source(), tiny_source()}, with(std::move(options))) {
        service_.load_all();
    }
    static ServiceOptions with(ServiceOptions options) {
        options.engine = {.threads = 1, .batch = 4, .bound = 60};
        return options;
    }

    Response ask(const std::string& method, const std::string& target, std::string body = "",
                 std::vector<Field> fields = {}) {
        return answer_of(service_, method, target, std::move(body), std::move(fields));
    }
    json translated(const json& body) {
        const Response response = ask("POST", "/translate", body.dump(), kJson);
        EXPECT_EQ(response.status, 200) << response.body;
        return json::parse(response.body);
    }
    std::vector<std::vector<Translation>> by_library(const std::vector<std::string>& lines,
                                                     const TranslateOptions& options = {}) {
        return Translator(test::tiny_translator(), {.threads = 1}).translate(lines, options);
    }

    Service service_;
};

TEST_F(TranslateTest, AnswersWhatTheLibraryTranslates) {
    const std::vector<std::string> lines{"a dog runs .", "the old man sees a tree"};
    const json told =
        translated({{"text", lines}, {"beam", 5}, {"best", 2}, {"length_penalty", 0.6}});
    EXPECT_EQ(told["model"], "words");
    EXPECT_EQ(told["version"], "1");
    EXPECT_EQ(told["source"], "en");
    EXPECT_EQ(told["target"], "de");
    EXPECT_EQ(told["pieces"], "words");
    const auto expected = by_library(lines, {.beam = 5, .length_penalty = 0.6, .best = 2});
    ASSERT_EQ(told["translations"].size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        const json& line = told["translations"][i];
        ASSERT_EQ(expected[i].size(), 2U);
        EXPECT_EQ(line["text"], expected[i][0].text);
        EXPECT_NEAR(line["score"], expected[i][0].score, 1e-3);
        EXPECT_EQ(line["pieces"], expected[i][0].pieces);
        EXPECT_EQ(line["pieces"].back(), "</s>");
        ASSERT_EQ(line["piece_scores"].size(), expected[i][0].pieces.size());
        EXPECT_NEAR(line["piece_scores"][0], expected[i][0].piece_scores[0], 1e-3);
        EXPECT_FALSE(line.contains("attention"));
        EXPECT_FALSE(line.contains("source_pieces"));
        ASSERT_EQ(line["others"].size(), 1U);
        EXPECT_EQ(line["others"][0]["text"], expected[i][1].text);
    }
}

TEST_F(TranslateTest, ShowsWhereItLooked) {
    const json told = translated({{"text", "a dog runs"}, {"attention", true}, {"best", 2}});
    const json& line = told["translations"][0];
    EXPECT_EQ(line["source_pieces"], json({"a", "dog", "runs", "</s>"}));
    const auto expected = by_library({"a dog runs"}, {.best = 2, .attention = true});
    for (std::size_t i = 0; i < 2; ++i) {
        const json& looks = i == 0 ? line["attention"] : line["others"][0]["attention"];
        const Translation& one = expected[0][i];
        ASSERT_EQ(looks.size(), one.pieces.size());
        for (std::size_t p = 0; p < looks.size(); ++p) {
            ASSERT_EQ(looks[p].size(), 4U);
            double sum = 0;
            for (std::size_t k = 0; k < 4; ++k) {
                EXPECT_NEAR(looks[p][k], one.attention.floats()[4 * p + k], 1e-4);
                sum += looks[p][k].get<double>();
            }
            EXPECT_NEAR(sum, 1, 1e-3);
        }
    }
}

TEST_F(TranslateTest, TakesAndGivesPlainLines) {
    const std::string text = "a dog runs\n\nthe cat sleeps\r\n";
    const auto expected = by_library({"a dog runs", "", "the cat sleeps"});
    const std::string lines =
        expected[0][0].text + "\n" + expected[1][0].text + "\n" + expected[2][0].text + "\n";
    const std::vector<Field> plain{{"content-type", "text/plain; charset=utf-8"}};
    const Response by_query = ask("POST", "/translate?as=text", text, plain);
    EXPECT_EQ(by_query.status, 200);
    EXPECT_EQ(by_query.type, "text/plain; charset=utf-8");
    EXPECT_EQ(by_query.body, lines);
    std::vector<Field> accepting = plain;
    accepting.push_back({"accept", "text/plain"});
    EXPECT_EQ(ask("POST", "/translate", text, accepting).body, lines);
    EXPECT_EQ(ask("POST", "/translate", "\xEF\xBB\xBF" + text, accepting).body, lines);
    // Without a type it is what it looks like.
    EXPECT_EQ(json::parse(ask("POST", "/translate", text).body)["translations"].size(), 3U);
    EXPECT_EQ(json::parse(ask("POST", "/translate", " {\"text\": \"a dog\"}").body)["translations"]
                  .size(),
              1U);
    EXPECT_EQ(
        json::parse(ask("POST", "/translate", "{\"text\": \"a dog\"}", plain).body)["translations"]
            .size(),
        1U);  // a line with braces
    EXPECT_EQ(ask("POST", "/translate?as=json", text, accepting).type, "application/json");
    EXPECT_EQ(
        json::parse(
            ask("POST", "/translate?beam=2&best=2", "a dog").body)["translations"][0]["others"]
            .size(),
        1U);
}

TEST_F(TranslateTest, RefusesWhatItCannotMean) {
    for (const char* query :
         {"beam=0", "beam=11", "beam=x", "best=5", "best=0", "length_penalty=nan",
          "length_penalty=6", "length_penalty=-1", "attention=2", "as=csv", "top=3",
          "as=text&best=2", "as=text&attention=1"})
        EXPECT_EQ(ask("POST", std::string("/translate?") + query, "a dog").status, 400) << query;
    EXPECT_EQ(ask("POST", "/translate", "").status, 400);
    EXPECT_EQ(ask("POST", "/translate", "a \xff dog").status, 400);
    EXPECT_EQ(ask("POST", "/translate", std::string("a\0dog", 5)).status, 400);
    EXPECT_EQ(ask("POST", "/translate", "{\"text\": [5]}", kJson).status, 400);
    EXPECT_EQ(ask("POST", "/translate", "a dog", kJson).status, 400);
    EXPECT_EQ(ask("POST", "/translate", std::string(10'000'000, 'a')).status, 413);
    EXPECT_EQ(ask("POST", "/translate", std::string(1000, '\n')).status, 413);
    EXPECT_EQ(ask("POST", "/translate", "--AaB\r\n\r\na\r\n--AaB--\r\n",
                  {{"content-type", "multipart/form-data; boundary=AaB"}})
                  .status,
              415);
    EXPECT_EQ(ask("GET", "/translate").status, 405);
    EXPECT_EQ(ask("POST", "/translate?model=none", "a dog").status, 404);
    EXPECT_THAT(ask("POST", "/translate?model=tiny", "a dog").body,
                HasSubstr("model tiny: it does not translate, its task is classify"));
    EXPECT_EQ(service_.admission().requests(), 0U);
}

TEST_F(TranslateTest, AModelIsAskedForItsOwnTask) {
    for (const char* target : {"/classify", "/embed", "/segment", "/detect"})
        EXPECT_EQ(ask("POST", target, "no image").status, 400) << target;
    EXPECT_THAT(ask("POST", "/classify", "no image").body, HasSubstr("POST /translate asks it"));
    EXPECT_EQ(ask("POST", "/classify?model=tiny", "no image").status, 422);
}

TEST_F(TranslateTest, IsDescribedByTheProtocol) {
    const json model = json::parse(ask("GET", "/v2/models/words").body);
    EXPECT_EQ(model["inputs"],
              json::array({{{"name", "text"}, {"datatype", "BYTES"}, {"shape", {-1}}}}));
    EXPECT_EQ(model["outputs"],
              json::array({{{"name", "translation"}, {"datatype", "BYTES"}, {"shape", {-1}}},
                           {{"name", "score"}, {"datatype", "FP32"}, {"shape", {-1}}}}));
    EXPECT_EQ(model["parameters"],
              json({{"precision", "fp32"}, {"source_language", "en"}, {"target_language", "de"}}));
    const json config = json::parse(ask("GET", "/v2/models/words/config").body);
    EXPECT_EQ(config["input"].size(), 1U);
    EXPECT_EQ(config["input"][0]["data_type"], "TYPE_STRING");
    EXPECT_EQ(config["output"][0]["data_type"], "TYPE_STRING");
    EXPECT_EQ(config["parameters"]["source_language"]["string_value"], "en");
    EXPECT_EQ(ask("GET", "/v2/models/words/ready").status, 200);
    const json stats = json::parse(ask("GET", "/stats").body)["models"];
    EXPECT_EQ(stats[0]["task"], "translate");
    EXPECT_EQ(stats[0]["target"], "de");
    EXPECT_EQ(stats[0]["longest"], 24);
    EXPECT_FALSE(stats[0].contains("image_size"));
    EXPECT_EQ(stats[1]["image_size"], json({16, 16}));
}

json text_input(const std::vector<std::string>& lines) {
    return {{"name", "text"}, {"datatype", "BYTES"}, {"shape", {lines.size()}}, {"data", lines}};
}

TEST_F(TranslateTest, AnswersTheProtocol) {
    const std::vector<std::string> lines{"a dog runs .", "snow", ""};
    json wanted{{"id", "seven"}, {"inputs", {text_input(lines)}}};
    const Response usual = ask("POST", "/v2/models/words/infer", wanted.dump());
    ASSERT_EQ(usual.status, 200) << usual.body;
    const json told = json::parse(usual.body);
    EXPECT_EQ(told["id"], "seven");
    ASSERT_EQ(told["outputs"].size(), 1U);
    EXPECT_EQ(told["outputs"][0]["name"], "translation");
    EXPECT_EQ(told["outputs"][0]["datatype"], "BYTES");
    EXPECT_EQ(told["outputs"][0]["shape"], json({3}));
    const auto expected = by_library(lines);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(told["outputs"][0]["data"][i], expected[i][0].text);

    wanted["outputs"] = {{{"name", "score"}}, {{"name", "translation"}}};
    wanted["parameters"] = {{"beam", 2}, {"length_penalty", 0}, {"timeout", 50'000'000}};
    const json both = json::parse(ask("POST", "/v2/models/words/infer", wanted.dump()).body);
    const auto narrow = by_library(lines, {.beam = 2, .length_penalty = 0});
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(both["outputs"][0]["data"][i], narrow[i][0].score, 1e-3);
        EXPECT_EQ(both["outputs"][1]["data"][i], narrow[i][0].text);
    }
    const json counts = json::parse(ask("GET", "/v2/models/words/stats").body)["model_stats"][0];
    EXPECT_EQ(counts["inference_count"], 6);
    EXPECT_EQ(counts["inference_stats"]["success"]["count"], 2);
}

std::string element(const std::string& bytes) {
    const auto length = std::uint32_t(bytes.size());
    return std::string(reinterpret_cast<const char*>(&length), 4) + bytes;
}

TEST_F(TranslateTest, SpeaksTheBinaryForm) {
    const std::string binary = element("a dog runs .") + element("snow");
    json input{{"name", "text"},
               {"datatype", "BYTES"},
               {"shape", {2, 1}},
               {"parameters", {{"binary_data_size", binary.size()}}}};
    const std::string head = json{{"inputs", {input}},
                                  {"outputs", {{{"name", "translation"}}, {{"name", "score"}}}},
                                  {"parameters", {{"binary_data_output", true}}}}
                                 .dump();
    const std::vector<Field> length{
        {"inference-header-content-length", std::to_string(head.size())}};
    const Response told = ask("POST", "/v2/models/words/infer", head + binary, length);
    ASSERT_EQ(told.status, 200) << told.body;
    ASSERT_EQ(told.fields.at(0).name, "Inference-Header-Content-Length");
    const std::size_t json_bytes = std::stoul(told.fields[0].value);
    const auto expected = by_library({"a dog runs .", "snow"});
    const std::string texts = element(expected[0][0].text) + element(expected[1][0].text);
    EXPECT_EQ(told.body.substr(json_bytes, texts.size()), texts);
    EXPECT_EQ(told.body.size(), json_bytes + texts.size() + 2 * sizeof(float));
    // A body without any JSON is a line.
    const Response raw =
        ask("POST", "/v2/models/words/infer", "snow\n", {{"inference-header-content-length", "0"}});
    ASSERT_EQ(raw.status, 200) << raw.body;
    EXPECT_TRUE(raw.body.ends_with(element(expected[1][0].text)));
    EXPECT_EQ(
        ask("POST", "/v2/models/words/infer", "a\nb", {{"inference-header-content-length", "0"}})
            .status,
        400);
    // Elements that lie about themselves.
    for (const std::string& wrong :
         {binary.substr(0, binary.size() - 1), binary + "x", element("a"),
          element("a") + element("b") + element("c"), std::string("\xff\xff\xff\xff", 4)}) {
        input["parameters"]["binary_data_size"] = wrong.size();
        const std::string text = json{{"inputs", {input}}}.dump();
        EXPECT_EQ(ask("POST", "/v2/models/words/infer", text + wrong,
                      {{"inference-header-content-length", std::to_string(text.size())}})
                      .status,
                  400)
            << wrong;
    }
}

TEST_F(TranslateTest, RefusesInputsThatDoNotFit) {
    const auto refused = [&](json input, const json& parameters = json::object()) {
        const json body{{"inputs", {std::move(input)}}, {"parameters", parameters}};
        return ask("POST", "/v2/models/words/infer", body.dump());
    };
    const auto with = [](const char* key, const json& value) {
        json input = text_input({"a dog"});
        input[key] = value;
        return input;
    };
    EXPECT_EQ(refused(text_input({"a dog"})).status, 200);
    for (const auto& wrong :
         {with("name", "encoded"), with("datatype", "FP32"), with("shape", {2}), with("shape", {0}),
          with("shape", {1, 2}), with("shape", {std::uint64_t{1} << 40}), with("data", {5}),
          with("data", json::array({json::array({"a", "b"})})), with("data", {"a\nb"})})
        EXPECT_EQ(refused(wrong).status, 400) << wrong;
    EXPECT_EQ(refused(text_input(std::vector<std::string>(129, "a"))).status, 400);
    EXPECT_EQ(refused(text_input({std::string(20'000, 'a')})).status, 413);
    for (const auto& wrong : {json{{"beam", 0}}, json{{"beam", 11}}, json{{"length_penalty", "1"}}})
        EXPECT_EQ(refused(text_input({"a"}), wrong).status, 400) << wrong;
    json body{{"inputs", {text_input({"a"})}},
              {"outputs", {{{"name", "score"}, {"parameters", {{"classification", 1}}}}}}};
    EXPECT_EQ(ask("POST", "/v2/models/words/infer", body.dump()).status, 400);
    body["outputs"] = {{{"name", "logits"}}};
    EXPECT_EQ(ask("POST", "/v2/models/words/infer", body.dump()).status, 400);
    // Pixels are no text, and text no pixels.
    EXPECT_EQ(
        ask("POST", "/v2/models/tiny/infer", json{{"inputs", {text_input({"a"})}}}.dump()).status,
        400);
}

TEST_F(TranslateTest, ManyAskAtTheSameTime) {
    const auto expected = by_library({"a dog runs ."});
    std::vector<std::future<Response>> asked;
    for (int i = 0; i < 24; ++i)
        asked.push_back(std::async(std::launch::async, [this, i] {
            return ask("POST", i % 3 == 0 ? "/translate?as=text&beam=3" : "/translate?as=text",
                       "a dog runs .");
        }));
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Response answer = asked[i].get();
        EXPECT_EQ(answer.status, 200) << answer.body;
        if (i % 3 != 0) {
            EXPECT_EQ(answer.body, expected[0][0].text + "\n");
        }
    }
    EXPECT_EQ(service_.admission().requests(), 0U);
}

class SmallAnswerTest : public TranslateTest {
protected:
    static ServiceOptions limited() {
        ServiceOptions options;
        options.answer = 20'000;
        return options;
    }
    SmallAnswerTest() : TranslateTest(limited()) {}
};

// Known from the lines alone, before anything is translated.
TEST_F(SmallAnswerTest, RefusesWhatWouldBeTooMuchToSay) {
    const std::string lines = "a dog\nthe cat\nsnow\n";
    EXPECT_EQ(ask("POST", "/translate", lines).status, 200);
    const Response refused = ask("POST", "/translate?best=4&attention=1", lines);
    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.body, HasSubstr("answer: expected at most 20000 bytes"));
    EXPECT_EQ(
        json::parse(ask("GET", "/v2/models/words/stats").body)["model_stats"][0]["execution_count"],
        1);
}

// An account that the models themselves just fit into.
class LittleMemoryTest : public TranslateTest {
protected:
    static ServiceOptions limited() {
        ServiceOptions options;
        for (std::uint64_t bytes = 64'000; bytes < 64'000'000; bytes += bytes / 4) {
            options.memory = std::make_shared<MemoryAccount>(bytes);
            try {
                Service({translator_source(), tiny_source()}, with(options)).load_all();
            } catch (const std::exception&) {
                continue;
            }
            options.memory = std::make_shared<MemoryAccount>(bytes);
            break;
        }
        return options;
    }
    LittleMemoryTest() : TranslateTest(limited()) {}
};

TEST_F(LittleMemoryTest, RefusesWhatDoesNotFit) {
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += "the old man sees a tree\n";
    const Response refused = ask("POST", "/translate", lines);
    // For ever or for now, by what the models keep.
    EXPECT_THAT(refused.status, testing::AnyOf(413, 503)) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("memory"));
    EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
}

}  // namespace
}  // namespace cait::serve
