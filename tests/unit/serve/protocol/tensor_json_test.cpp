#include "serve/protocol/tensor_json.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TensorJson, TakesNumbersOutOfTheTree) {
    const RequestJson parsed = parse_request_json(
        R"({"id":"7","inputs":[{"name":"a","data":[[1,2.5],[-3,1e2]],"shape":[2,2]},
            {"name":"b","shape":[2],"data":["x","y"]},{"name":"c","shape":[0]}],
            "outputs":[{"name":"o","data":[1]}]})");
    ASSERT_EQ(parsed.data.size(), 3U);
    EXPECT_THAT(parsed.data[0].numbers, ElementsAre(1, 2.5, -3, 100));
    EXPECT_THAT(parsed.data[0].extents, ElementsAre(2, 2));
    EXPECT_THAT(parsed.data[1].texts, ElementsAre("x", "y"));
    EXPECT_THAT(parsed.data[1].extents, ElementsAre(2));
    EXPECT_FALSE(parsed.data[2].given);
    EXPECT_EQ(parsed.tree["inputs"][0]["shape"], (nlohmann::json{2, 2}));
    EXPECT_EQ(parsed.tree["inputs"][1]["name"], "b");
    EXPECT_EQ(parsed.tree["outputs"][0]["data"], nlohmann::json::array({1}));  // no tensor
    EXPECT_EQ(parsed.tree["id"], "7");
}

TEST(TensorJson, AnEmptyListIsGiven) {
    const RequestJson parsed = parse_request_json(R"({"inputs":[{"data":[]}]})");
    EXPECT_TRUE(parsed.data.at(0).given);
    EXPECT_THAT(parsed.data[0].extents, ElementsAre(0));
}

TEST(TensorJson, RefusesDataThatIsNoTensor) {
    for (const char* data : {"[1,[2]]", "[[1],2]", "[[1,2],[3]]", "[[1],[[2]]]", "[1,\"a\"]",
                             "[\"a\",1]", "[true]", "[null]", "[{}]", "5", "\"x\"", "null", "{}",
                             "[1e39]", "[1e400]", "[-1e39]", "[NaN]", "[1,]", "[[],[1]]"})
        EXPECT_EQ(refusal_of([&] {
                      parse_request_json(std::string("{\"inputs\":[{\"data\":") + data + "}]}");
                  }).status,
                  400)
            << data;
}

TEST(TensorJson, RefusesWhatIsNoJson) {
    for (const char* text : {"", "{", "[1,2", "{\"a\":1}x", "{'a':1}", "\xff", "{\"a\":\"\xff\"}",
                             "{\"a\":1,\"a\":2}", "{\"inputs\":[{\"data\":[1],\"data\":[2]}]}"})
        EXPECT_EQ(refusal_of([&] { parse_request_json(text); }).status, 400) << text;
}

TEST(TensorJson, LimitsDepthAndNumberOfValues) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_EQ(refusal_of([&] { parse_small_json(nested(kDeepestJson)); }).status, 0);
    EXPECT_EQ(refusal_of([&] { parse_small_json(nested(kDeepestJson + 1)); }).status, 400);
    EXPECT_EQ(refusal_of([&] { parse_small_json(nested(1'000'000)); }).status, 400);
    EXPECT_EQ(refusal_of([&] {
                  parse_request_json("{\"inputs\":[{\"data\":" + nested(100'000) + "}]}");
              }).status,
              400);
    std::string many = "[0";
    for (std::size_t i = 0; i < kMostJsonValues; ++i) many += ",0";
    EXPECT_EQ(refusal_of([&] { parse_small_json(many + "]"); }).status, 400);
}

}  // namespace
}  // namespace cait::serve
