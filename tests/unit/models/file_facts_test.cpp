#include "models/file_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cait {
namespace {

using testing::HasSubstr;

TEST(FileFacts, ComeBackAsTheyWereWritten) {
    FileFacts facts{.model = "cait_s24_224",
                    .name = "flowers",
                    .settings = {{"classes", "2"}, {"depth", "3"}},
                    .classes = {"cat", "\"dog\"\n"},
                    .preprocessing = Preprocessing{.crop_ratio = 1, .mean = {0.1F, 0.2F, 0.3F}},
                    .task = {"multi_label", 0.25},
                    .training = {{"recipe", "[optim]\nlr = 1e-3\n"}}};
    const FileFacts again = read_facts(facts_metadata(facts), "x");
    EXPECT_EQ(again.model, facts.model);
    EXPECT_EQ(again.name, facts.name);
    EXPECT_EQ(again.settings, facts.settings);
    EXPECT_EQ(again.classes, facts.classes);
    EXPECT_EQ(again.preprocessing, facts.preprocessing);
    EXPECT_EQ(again.training, facts.training);
    EXPECT_EQ(again.task, facts.task);
    EXPECT_EQ(read_facts({}, "x").task, Task());  // files of before
}

TEST(FileFacts, DescribeTheModelThatWasAskedFor) {
    FileFacts facts;
    facts.model = "a";
    EXPECT_TRUE(facts.describe(""));
    EXPECT_TRUE(facts.describe("a"));
    EXPECT_FALSE(facts.describe("b"));
    EXPECT_FALSE(FileFacts().describe(""));
}

TEST(FileFacts, AHostileEntryIsNamed) {
    const std::pair<const char*, const char*> entries[] = {
        {"cait.classes", "{}"},
        {"cait.classes", "[1]"},
        {"cait.settings", "[]"},
        {"cait.settings", R"({"classes": 3})"},
        {"cait.preprocess", "nonsense"},
        {"cait.preprocess", R"({"mean": [1, 2]})"},
        {"cait.preprocess", R"({"crop_ratio": "wide"})"},
        {"cait.preprocess", R"({"std": [1, 1, 1e999]})"},
        {"cait.task", "nonsense"},
        {"cait.task", R"(["multi_label"])"},
        {"cait.task", R"({"name": "multi_label"})"},
        {"cait.task", R"({"name": 1, "threshold": 0.5})"},
        {"cait.training", "7"}};
    for (const auto& [key, text] : entries) {
        try {
            read_facts({{key, text}}, "bad.safetensors");
            ADD_FAILURE() << key << " " << text;
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("bad.safetensors"));
            EXPECT_THAT(error.what(), HasSubstr(key));
        }
    }
}

}  // namespace
}  // namespace cait
