#include "serve/protocol/translate_request.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TranslateRequest, ATextHasALineForEachSentence) {
    EXPECT_THAT(lines_of("a dog\nthe cat"), ElementsAre("a dog", "the cat"));
    EXPECT_THAT(lines_of("a dog\r\nthe cat\r\n"), ElementsAre("a dog", "the cat"));
    EXPECT_THAT(lines_of("a dog\n\nthe cat\n"), ElementsAre("a dog", "", "the cat"));
    EXPECT_THAT(lines_of("\n"), ElementsAre(""));
    EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(TranslateRequest, HasSoManyLines) {
    constexpr std::size_t kMost = ServedTranslator::kMostLines;
    EXPECT_EQ(lines_of(std::string(kMost, '\n')).size(), kMost);
    EXPECT_EQ(refusal_of([] { lines_of(std::string(kMost + 1, '\n')); }).status, 413);
    const auto list_of = [](std::size_t lines) {
        return nlohmann::json{{"text", std::vector<std::string>(lines, "a")}}.dump();
    };
    EXPECT_EQ(translate_request_of(list_of(kMost), {}).lines.size(), kMost);
    EXPECT_EQ(refusal_of([&] { translate_request_of(list_of(kMost + 1), {}); }).status, 413);
}

TEST(TranslateRequest, ReadsJson) {
    const TranslateRequest one = translate_request_of(R"({"text": "a dog\nthe cat"})", {});
    EXPECT_THAT(one.lines, ElementsAre("a dog", "the cat"));
    EXPECT_EQ(one.wish, TranslateWish());
    const TranslateRequest all = translate_request_of(
        R"({"text": ["a dog", "the\ncat"], "beam": 6, "best": 3, "length_penalty": 0.6,
            "attention": true})",
        {});
    EXPECT_THAT(all.lines, ElementsAre("a dog", "the\ncat"));  // which is refused later
    EXPECT_EQ(all.wish, (TranslateWish{6, 3, 0.6, true}));
    const TranslateWish query{8, 2, 0.5, true};
    EXPECT_EQ(translate_request_of(R"({"text": ""})", query).wish, query);
    EXPECT_EQ(translate_request_of(R"({"text": "", "beam": 2, "attention": false})", query).wish,
              (TranslateWish{2, 2, 0.5, false}));
}

TEST(TranslateRequest, RefusesWhatItCannotMean) {
    for (const char* wrong : {"",
                              "[]",
                              "5",
                              "{}",
                              R"({"text": 5})",
                              R"({"text": [5]})",
                              R"({"text": {"a": "b"}})",
                              R"({"text": null})",
                              R"({"text": [["a"]]})",
                              R"({"text": "a", "beam": 0})",
                              R"({"text": "a", "beam": 11})",
                              R"({"text": "a", "beam": -1})",
                              R"({"text": "a", "beam": 2.5})",
                              R"({"text": "a", "beam": "2"})",
                              R"({"text": "a", "beam": 1e3})",
                              R"({"text": "a", "best": 0})",
                              R"({"text": "a", "best": 5})",
                              R"({"text": "a", "beam": 2, "best": 3})",
                              R"({"text": "a", "length_penalty": -0.1})",
                              R"({"text": "a", "length_penalty": 5.1})",
                              R"({"text": "a", "length_penalty": null})",
                              R"({"text": "a", "attention": 1})",
                              R"({"text": "a", "text": "b"})",
                              R"({"text": "a", "inputs": "b"})",
                              "{\"text\": \"\xff\"}",
                              R"({"text": "\ud800"})"})
        EXPECT_EQ(refusal_of([&] { translate_request_of(wrong, {}); }).status, 400) << wrong;
    EXPECT_THAT(refusal_of([] { translate_request_of(R"({"text": "a", "bean": 4})", {}); }).text,
                HasSubstr("expected text, beam, best, length_penalty and attention, found 'bean'"));
    EXPECT_THAT(refusal_of([] { translate_request_of(R"({"text": "a", "best": 5})", {}); }).text,
                HasSubstr("best: expected at most the beam, 4, found 5"));
}

}  // namespace
}  // namespace cait::serve
