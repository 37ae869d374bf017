// `cait models` and the program's manners: help, versions, wrong words.
#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "e2e/command.h"
#include "support/source_path.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

TEST(Models, JsonHasTheFieldsThatScriptsRelyOn) {
    const Finished run = cait({"models", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto models = nlohmann::json::parse(run.out);
    ASSERT_GE(models.size(), 80U);
    bool found = false;
    for (const auto& model : models) {
        for (const char* field : {"name", "family", "image_size", "params", "macs", "top1"})
            ASSERT_TRUE(model.contains(field)) << model.dump();
        if (model["name"] != "cait_xxs24_224") continue;
        found = true;
        EXPECT_EQ(model["family"], "cait");
        EXPECT_EQ(model["image_size"], 224);
        EXPECT_EQ(model["params"], 11956264);
        EXPECT_EQ(model["top1"], 77.6);
        EXPECT_EQ(model["top1_distilled"], 78.4);
    }
    EXPECT_TRUE(found);
}

TEST(Models, DocumentationHasEveryModelAndItsFigures) {
    const auto docs = test::source_path(__FILE__).parent_path() / "../../docs/models.md";
    const std::string text = read(docs.string());
    const auto models = nlohmann::json::parse(cait({"models", "--json"}).out);
    for (const auto& model : models) {
        const std::string name = model["name"].get<std::string>();
        const std::size_t at = text.find("\n| `" + name + "` ");
        ASSERT_NE(at, std::string::npos) << name;
        const std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
        char params[32];
        std::snprintf(params, sizeof params, " %.2f |", model["params"].get<double>() * 1e-6);
        EXPECT_THAT(row, HasSubstr(params));
    }
}

TEST(Models, DetectorsHaveTheirAveragePrecision) {
    const auto models = nlohmann::json::parse(cait({"models", "mask_rcnn", "--json"}).out);
    ASSERT_EQ(models.size(), 4U);
    for (const auto& model : models) {
        if (model["name"] != "patchconvnet_s60_mask_rcnn") continue;
        EXPECT_EQ(model["box_ap"], 46.4);
        EXPECT_EQ(model["box_ap75"], 50.8);
        EXPECT_EQ(model["mask_ap"], 41.3);
        EXPECT_EQ(model["mask_ap50"], 64.8);
        EXPECT_TRUE(model["top1"].is_null());
        EXPECT_EQ(model["image_size"], (std::vector<int>{800, 1344}));
    }
    const Finished table = cait({"models", "maskrcnn_resnet50_fpn"});
    for (const char* text : {"box AP", "37.9", "34.6", "1000 regions"})
        EXPECT_THAT(table.out, HasSubstr(text));
}

TEST(Models, FilterAndSettingsChangeTheTable) {
    const Finished run = cait({"models", "cait_xxs24_224", "--set", "model.image_size=192x256"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("192x256"));
    EXPECT_THAT(run.out, HasSubstr("1 models"));
}

TEST(Models, PrintHasTheSettingsOfOneModelAsARecipeHasThem) {
    const Finished run = cait({"models", "cait_xxs36_224", "--set", "model.depth=12", "--print"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* line : {"[model]\nname = \"cait_xxs36_224\"\n", "\ndrop_path = 0.1\n",
                             "\ndepth = 12\n", "\nresidual_init = 0.1\n",
                             "\n# read only with model.class_stage=token\n# class_insert = 0\n"})
        EXPECT_THAT(run.out, HasSubstr(line));
    expect_refused(cait({"models", "cait", "--print"}), 2, {"unknown model 'cait'"});
    expect_refused(cait({"models", "--print"}), 2, {"expected the name of one model"});
}

TEST(Models, TheAccuracyOfAPaperIsNotThatOfAChangedModel) {
    const auto top1 = [](const char* setting) {
        const Finished run = cait({"models", "cait_xxs24_224", "--json", "--set", setting});
        return nlohmann::json::parse(run.out)[0]["top1"];
    };
    EXPECT_TRUE(top1("model.image_size=160").is_null());
    EXPECT_TRUE(top1("model.depth=3").is_null());
    EXPECT_EQ(top1("model.image_size=224"), 77.6);  // which it has anyway
}

TEST(Models, WrongWordsAreUsageErrorsInOneLine) {
    expect_refused(cait({"models", "cait_xxs25"}), 2, {"unknown model 'cait_xxs25'", "nearest"});
    expect_refused(cait({"models", "--set", "model.dept=3"}), 2, {"valid keys: ", "depth"});
    expect_refused(cait({"models", "--set", "depth=3"}), 2, {"expected model.KEY=VALUE"});
    expect_refused(cait({"models", "--jsn"}), 2, {"--jsn", "cait models --help"});
    expect_refused(cait({}), 2, {"subcommand", "cait --help"});
}

TEST(Models, MistypedCommandsAreSuggested) {
    expect_refused(cait({"modles"}), 2, {"unknown command 'modles'", "'models'", "cait --help"});
    expect_refused(cait({"data", "stas"}), 2,
                   {"unknown command 'stas'", "'stats'", "cait data --help"});
    expect_refused(cait({"data", "get", "--lst"}), 2, {"--lst", "cait data get --help"});
}

TEST(Models, SetTakesOneValueAndLeavesTheNextWord) {
    const Finished run = cait(
        {"models", "--set", "model.image_size=160", "cait_xxs24_224", "--set", "model.depth=2"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, testing::AllOf(HasSubstr("cait_xxs24_224"), HasSubstr("160x160"),
                                        HasSubstr("1 models")));
    // The file is looked for; it was not taken for a second tap.
    const Finished tapped = cait({"inspect", "--tap", "logits", "none.pth"});
    expect_refused(tapped, 1, {"none.pth: cannot open"});
}

TEST(Models, EveryCommandExplainsItselfWithAnExample) {
    EXPECT_THAT(cait({"--version"}).out, testing::StartsWith("cait 0."));
    for (const char* command : {"models", "inspect", "convert", "forward", "machine"}) {
        const Finished run = cait({command, "--help"});
        EXPECT_EQ(run.status, 0);
        EXPECT_THAT(run.out, HasSubstr("Example:\n  cait ")) << command;
    }
}

}  // namespace
}  // namespace cait::e2e
