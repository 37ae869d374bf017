#include "train/recipe/unused_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cait/error.h"
#include "support/source_path.h"
#include "support/temporary_folder.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// What a user who sets these on top of a recipe is told; empty: nothing.
std::string told(const std::string& name, const SettingList& values) {
    Recipe recipe = find_recipe(name);
    set_recipe_values(recipe, values);
    check(recipe);
    std::vector<OwnKey> own;
    for (const auto& value : values) add_own_key(own, {value.first});
    try {
        refuse_unused(recipe, own);
    } catch (const UsageError& error) {
        return error.what();
    }
    return {};
}

TEST(UnusedKeys, AreNamedWithWhatWouldReadThem) {
    EXPECT_EQ(told("cait", {{"distill.teacher", "t.safetensors"}}),
              "distill.teacher: has no effect: it is read only with a distill.kind other than none "
              "(leave it out, or add --allow-unused)");
    struct Case {
        const char* recipe;
        SettingList values;
        const char* when;
    };
    const Case cases[] = {
        {"cait", {{"model.class_insert", "2"}}, "model.class_stage=token"},
        {"cait",
         {{"model.class_stage", "average"}, {"model.class_layers", "3"}},
         "model.class_stage=attention"},
        {"cait",
         {{"model.residual", "none"}, {"model.residual_init", "1"}},
         "a model.residual other than none"},
        {"cait", {{"loss.bce_threshold", "0.1"}}, "loss.name=bce"},
        {"cait", {{"optim.momentum", "0.9"}}, "optim.name=sgd"},
        {"classic", {{"optim.beta2", "0.95"}}, "optim.name adamw or lamb"},
        {"deit", {{"head.hidden", "512"}}, "head.kind mlp, dino or mask_rcnn"},
        {"deit", {{"dino.freeze_last", "2"}}, "loss.name dino"},
        {"deit", {{"target.momentum", "0.9"}}, "a loss.name with a target network"},
        {"deit", {{"memory.momentum", "0.9"}}, "loss.name knn or grafit"},
        {"deit", {{"loss.margin", "0.3"}}, "loss.name triplet or ce_triplet"},
        {"deit", {{"loss.threshold", "0.3"}}, "loss.name multi_label"},
        {"deit", {{"loss.token_weight", "1"}}, "loss.name=token_label"},
        {"deit", {{"augment.jitter", "0.4"}}, "augment.policy none or three"},
        {"deit", {{"optim.clip_at", "1"}}, "an optim.clip other than none"},
        {"deit", {{"views.local_size", "64"}}, "views.name=multi-crop"},
        {"dino", {{"augment.crop", "src"}}, "a views.name other than multi-crop"},
        {"deit", {{"schedule.step_every", "10"}}, "schedule.name=step"},
        {"small", {{"schedule.scale_ends", "true"}}, "optim.lr_batch above 0"},
        {"classic", {{"schedule.min_lr", "1e-6"}}, "schedule.name cosine"},
        {"deit", {{"eval.neighbours", "5"}}, "a loss.name without a classifier"},
        {"finetune-resolution", {{"model.drop_path", "0.3"}}, "train.mode=train"},
        {"cait-distilled", {{"distill.temperature", "3"}}, "distill.kind soft or tokens"},
    };
    for (const Case& one : cases)
        EXPECT_THAT(
            told(one.recipe, one.values),
            AllOf(HasSubstr(one.values.back().first + ": has no effect"), HasSubstr(one.when)))
            << one.recipe;
}

TEST(UnusedKeys, AllAreNamedAtOnce) {
    EXPECT_THAT(told("deit", {{"optim.momentum", "0.8"}, {"head.hidden", "8"}}),
                AllOf(HasSubstr("optim.momentum: has no effect"),
                      HasSubstr("; head.hidden: has no effect"), HasSubstr("leave them out")));
}

TEST(UnusedKeys, WhatHasAnEffectPasses) {
    for (const auto& [recipe, values] :
         {std::pair<const char*, SettingList>{"cait", {}},
          {"cait", {{"model.class_stage", "token"}, {"model.class_insert", "2"}}},
          {"cait", {{"distill.kind", "hard"}, {"distill.teacher", "t.safetensors"}}},
          {"cait-distilled", {{"distill.kind", "none"}, {"distill.teacher", ""}}},
          {"deit", {{"optim.name", "sgd"}, {"optim.momentum", "0.8"}}},
          {"deit", {{"model.name", "resnet50"}, {"model.drop_path", "0.1"}}},
          {"deit3-1k", {{"augment.jitter", "0"}}},
          {"grafit",
           {{"head.kind", "none"},
            {"head.predictor", "0"},
            {"save.head", "false"},
            {"eval.features", "trunk"}}},
          {"deit", {{"augment.jitter", "0"}}},
          {"dino", {{"target.momentum", "0.99"}, {"dino.freeze_last", "2"}}}})
        EXPECT_EQ(told(recipe, values), "") << recipe;
}

// Built-in recipes keep what nothing reads in [unused], so that their files can be copied.
TEST(UnusedKeys, NoFileOfOursHasOne) {
    const auto folder = test::source_path(__FILE__).parent_path() / "../../../../recipes";
    for (const std::string& name : recipe_names()) {
        std::vector<OwnKey> own;
        const Recipe recipe = read_recipe(folder / (name + ".toml"), &own);
        EXPECT_NO_THROW(refuse_unused(recipe, own)) << name;
        EXPECT_FALSE(own.empty());
    }
}

TEST(UnusedKeys, OfAFileHaveItsLine) {
    const TemporaryFolder folder;
    write_file(folder / "a.toml",
               "base = \"deit\"\n[optim]\nmomentum = 0.8\nnesterov = true\nlr = 1e-3\n"
               "[unused]\nhead.hidden = 7\n");
    std::vector<OwnKey> own;
    const Recipe recipe = read_recipe(folder / "a.toml", &own);
    EXPECT_EQ(recipe.head.hidden, 7);
    try {
        refuse_unused(recipe, own);
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("a.toml:3: optim.momentum: has no effect"));
        // nesterov is as it would be without the line; what is in [unused] is meant to be.
        EXPECT_THAT(error.what(), testing::Not(HasSubstr("nesterov")));
        EXPECT_THAT(error.what(), testing::Not(HasSubstr("head.hidden")));
    }
    own.clear();
    find_recipe("deit", &own);
    EXPECT_THAT(own, IsEmpty());
    // Keys of what a file starts from are not its own.
    write_file(folder / "b.toml", "base = \"a\"\n[schedule]\nepochs = 30\n");
    EXPECT_NO_THROW(refuse_unused(read_recipe(folder / "b.toml", &own), own));
}

// So may the command line, and the other way round.
TEST(UnusedKeys, WordsMayOverruleAFile) {
    const TemporaryFolder folder;
    write_file(folder / "a.toml",
               "base = \"deit\"\n[distill]\nkind = \"hard\"\nteacher = \"t\"\nalpha = 0.9\n"
               "[optim]\nmomentum = 0.8\n");
    std::vector<OwnKey> own;
    const Recipe file = read_recipe(folder / "a.toml", &own);
    const auto refused = [&](const SettingList& words) {
        Recipe recipe = file;
        set_recipe_values(recipe, words);
        try {
            refuse_unused(recipe, file, own, words);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused({{"distill.kind", "none"}, {"optim.name", "sgd"}}), "");
    EXPECT_THAT(refused({{"distill.kind", "none"}}),
                AllOf(HasSubstr("a.toml:7: optim.momentum"), testing::Not(HasSubstr("distill"))));
    EXPECT_THAT(refused({{"optim.name", "sgd"}, {"distill.temperature", "2"}}),
                testing::StartsWith("distill.temperature: has no effect"));
}

// `--print > mine.toml`, and the recipe.toml of a run.
TEST(UnusedKeys, ACompleteTextPassesAsAFileOfOnesOwn) {
    const TemporaryFolder folder;
    for (const std::string& name : recipe_names()) {
        Recipe recipe = find_recipe(name);
        if (name == "small") set_recipe_values(recipe, {{"model.class_stage", "average"}});
        write_file(folder / "x.toml", recipe_text(recipe));
        std::vector<OwnKey> own;
        EXPECT_EQ(read_recipe(folder / "x.toml", &own), recipe) << name;
        EXPECT_NO_THROW(refuse_unused(recipe, own)) << name;
    }
}

}  // namespace
}  // namespace cait
