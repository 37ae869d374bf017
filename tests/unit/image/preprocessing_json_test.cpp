#include "image/preprocessing_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cait {
namespace {

using Json = nlohmann::json;

TEST(PreprocessingJson, GoesBothWays) {
    const Preprocessing written{.crop_ratio = 0.9,
                                .crop_mode = "squash",
                                .interpolation = "bilinear",
                                .mean = {0.1F, 0.25F, 1.0F / 3},
                                .std = {0.3F, 0.7F, 0.123456789F}};
    EXPECT_EQ(Json::parse(Json(written).dump()).get<Preprocessing>(), written);
}

TEST(PreprocessingJson, HasTheKeysAndTheShortNumbersOfTheField) {
    EXPECT_EQ(Json(Preprocessing()).dump(),
              R"({"crop_mode":"centre","crop_ratio":0.875,"interpolation":"bicubic",)"
              R"("mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225]})");
}

TEST(PreprocessingJson, KeepsTheDefaultOfAMissingKey) {
    EXPECT_EQ(Json::object().get<Preprocessing>(), Preprocessing());
}

TEST(PreprocessingJson, ReadsTheOlderNameOfStd) {
    const auto found = Json::parse(R"({"deviation": [1, 2, 3]})").get<Preprocessing>();
    EXPECT_EQ(found.std, (std::array<float, 3>{1, 2, 3}));
}

TEST(PreprocessingJson, SaysWhatItExpected) {
    const std::pair<const char*, const char*> cases[] = {
        {"[]", "expected a JSON object"},
        {R"({"mean": [1, 2]})", "expected three numbers for 'mean'"},
        {R"({"std": [1, 2, "x"]})", "expected finite numbers for 'std'"},
        {R"({"crop_mode": 3})", "expected a string for 'crop_mode'"},
        {R"({"crop_mode": "x"})", "crop mode: expected centre, squash or border, found 'x'"},
        {R"({"crop_ratio": 1e-300})", "'crop_ratio': expected 0.01 to 100, found 1e-300"},
        {R"({"mean": [0, 0, 1e9]})", "'mean': expected -1000 to 1000, found 1e+09"},
        {R"({"std": [1, 0, 1]})", "'std': expected 1e-06 to 1000, found 0"}};
    for (const auto& [text, message] : cases) {
        try {
            Json::parse(text).get<Preprocessing>();
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), message);
        }
    }
}

}  // namespace
}  // namespace cait
