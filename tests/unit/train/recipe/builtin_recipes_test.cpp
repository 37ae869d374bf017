// The built-in recipes against the figures of their papers, and the documentation against both.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "support/source_path.h"
#include "support/temporary_folder.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path root() { return test::source_path(__FILE__).parent_path() / "../../../.."; }

// The stochastic depth that training would have, whether the preset or the recipe says so.
double drop_path(const Recipe& recipe) {
    for (const auto& [key, value] : model_settings(recipe.model.name, recipe.model.settings))
        if (key == "drop_path") return std::stod(value);
    return -1;
}

// The learning rate at its peak with the recipe's own batch.
double peak(const Recipe& recipe) {
    const OptimPart& optim = recipe.optim;
    if (optim.lr_batch == 0) return optim.lr;
    return optim.lr * double(recipe.data.batch) / double(optim.lr_batch);
}

TEST(BuiltinRecipes, AreTheFilesOfTheFolder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(root() / "recipes"))
        if (entry.is_regular_file()) files.push_back(entry.path().stem().string());
    std::ranges::sort(files);
    EXPECT_EQ(recipe_names(), files);
    for (const std::string& name : files)
        EXPECT_EQ(find_recipe(name), read_recipe(root() / "recipes" / (name + ".toml"))) << name;
}

TEST(BuiltinRecipes, CanBeUsedAndSayWhatTheyAreFor) {
    for (const std::string& name : recipe_names()) {
        const Recipe recipe = find_recipe(name);
        EXPECT_NO_THROW(check(recipe)) << name;
        EXPECT_FALSE(recipe.about.empty()) << name;
        EXPECT_EQ(recipe_about(name), recipe.about);
        EXPECT_EQ(parse_recipe(recipe_text(recipe), name), recipe) << name;
    }
}

struct Facts {
    const char* name;
    OptimizerKind optimizer;
    double peak;
    std::int64_t batch;
    double epochs, warmup, weight_decay, drop_path, smoothing, mixup, cutmix, erase;
    std::int64_t repeats;
    const char* policy;
};

TEST(BuiltinRecipes, HaveTheFiguresOfThePapers) {
    constexpr auto kAdamw = OptimizerKind::adamw;
    constexpr auto kLamb = OptimizerKind::lamb;
    const char* ra9 = "rand-m9-mstd0.5-inc1";
    const char* ra7 = "rand-m7-mstd0.5-inc1";
    const Facts all[] = {
        {"vit", kAdamw, 3e-3, 4096, 300, 3.4, 0.3, 0, 0, 0, 0, 0, 1, "none"},
        {"deit", kAdamw, 1e-3, 1024, 300, 5, 0.05, 0.1, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"deit-distilled", kAdamw, 1e-3, 1024, 300, 5, 0.05, 0.1, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"cait", kAdamw, 1e-3, 1024, 400, 5, 0.05, 0.05, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"cait-distilled", kAdamw, 1e-3, 1024, 400, 5, 0.05, 0.05, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"deit3-1k", kLamb, 3e-3, 2048, 400, 5, 0.02, 0.1, 0, 0.8, 1, 0, 3, "three"},
        {"deit3-21k", kLamb, 3e-3, 2048, 90, 5, 0.02, 0.1, 0.1, 0, 1, 0, 1, "three"},
        {"deit3-21k-finetune", kLamb, 3e-4, 2048, 50, 5, 0.02, 0.15, 0.1, 0, 1, 0, 1, "three"},
        {"resmlp", kLamb, 5e-3, 1024, 400, 5, 0.2, 0.1, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"patchconvnet", kLamb, 3e-3, 2048, 400, 5, 0.01, 0.15, 0.1, 0.8, 1, 0, 3, ra7},
        {"ceit", kAdamw, 1e-3, 1024, 300, 5, 0.05, 0.1, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"volo", kAdamw, 1.6e-3, 1024, 300, 20, 0.05, 0.1, 0.1, 0, 0, 0.25, 1, ra9},
        {"deepvit", kAdamw, 5e-4, 256, 300, 5, 0.05, 0.2, 0.1, 0.8, 1, 0.25, 1, ra9},
        {"rsb-a2", kLamb, 5e-3, 2048, 300, 5, 0.02, 0.05, 0, 0.1, 1, 0, 3, ra7},
        {"transfer", kAdamw, 1e-4, 1024, 1000, 5, 0.05, 0.05, 0.1, 0.8, 1, 0.25, 3, ra9},
        {"finetune-resolution", kAdamw, 5e-6, 512, 25, 5, 1e-8, 0.05, 0.1, 0.8, 1, 0.25, 3, ra9},
    };
    // recipe_sources_test.cpp has the others, and sees to it that none is left out.
    for (const Facts& facts : all) {
        const Recipe r = find_recipe(facts.name);
        SCOPED_TRACE(facts.name);
        EXPECT_EQ(r.optim.name, facts.optimizer);
        EXPECT_DOUBLE_EQ(peak(r), facts.peak);
        EXPECT_EQ(r.data.batch, facts.batch);
        EXPECT_EQ(r.schedule.epochs, facts.epochs);
        EXPECT_EQ(r.schedule.warmup, facts.warmup);
        EXPECT_EQ(r.schedule.name, ScheduleKind::cosine);
        EXPECT_EQ(r.optim.weight_decay, facts.weight_decay);
        EXPECT_EQ(drop_path(r), facts.drop_path);
        EXPECT_EQ(r.loss.smoothing, facts.smoothing);
        EXPECT_EQ(r.augment.mixup, facts.mixup);
        EXPECT_EQ(r.augment.cutmix, facts.cutmix);
        EXPECT_EQ(r.augment.erase, facts.erase);
        EXPECT_EQ(r.data.repeats, facts.repeats);
        EXPECT_EQ(r.augment.policy, facts.policy);
    }
}

TEST(BuiltinRecipes, HaveTheLossesAndTeachersOfThePapers) {
    const std::map<std::string, std::string> losses{{"deit3-1k", "bce"},
                                                    {"deit3-1k-long", "bce"},
                                                    {"dino", "dino"},
                                                    {"dino-small", "dino"},
                                                    {"grafit", "grafit"},
                                                    {"grafit-cifar", "grafit"},
                                                    {"grafit-fc", "grafit"},
                                                    {"multi-label", "multi_label"},
                                                    {"segment", "segment"},
                                                    {"snca", "knn"},
                                                    {"detect", "mask_rcnn"},
                                                    {"mask-rcnn", "mask_rcnn"},
                                                    {"upernet", "segment"},
                                                    {"rsb-a1", "bce"},
                                                    {"rsb-a2", "bce"},
                                                    {"rsb-a3", "bce"},
                                                    {"volo", "token_label"},
                                                    {"volo-resolution", "token_label"},
                                                    {"resmlp-translate", "translate"},
                                                    {"translate-small", "translate"}};
    for (const std::string& name : recipe_names()) {
        const Recipe r = find_recipe(name);
        SCOPED_TRACE(name);
        EXPECT_EQ(r.loss.name, losses.contains(name) ? losses.at(name) : "cross_entropy");
        const bool distilled = name.ends_with("distilled");
        EXPECT_EQ(r.distill.kind, distilled ? Distillation::hard : Distillation::none);
        EXPECT_EQ(r.distill.teacher, distilled ? "regnety_160" : "");
        EXPECT_EQ(r.distill.alpha, 0.5);
    }
}

TEST(BuiltinRecipes, HaveTheRestThatTheFactsName) {
    const Recipe deit = find_recipe("deit");
    EXPECT_EQ(deit.optim.epsilon, 1e-8);
    EXPECT_EQ(deit.optim.clip, ClipKind::none);
    EXPECT_EQ(deit.schedule.min_lr, 1e-5);
    EXPECT_EQ(deit.schedule.warmup_lr, 1e-6);
    EXPECT_EQ(deit.train.ema, 0.99996);
    EXPECT_EQ(find_recipe("cait").eval.crop_ratio, 1.0);
    const Recipe deit3 = find_recipe("deit3-1k");
    EXPECT_EQ(deit3.augment.jitter, "0.3");
    EXPECT_EQ(deit3.augment.crop, CropKind::random_resized);
    EXPECT_EQ(deit3.loss.bce_threshold, 0);
    EXPECT_EQ(deit3.optim.lr_batch, 0);
    EXPECT_EQ(find_recipe("deit3-21k").augment.crop, CropKind::simple);
    EXPECT_EQ(find_recipe("volo").schedule.cooldown, 10);
    EXPECT_EQ(find_recipe("volo").loss.token_weight, 0.5);
    EXPECT_EQ(find_recipe("volo").augment.mix_tokens, 1);
    EXPECT_EQ(find_recipe("volo").loss.class_target, ClassTarget::map);
    EXPECT_EQ(find_recipe("vit").optim.clip, ClipKind::norm);
    EXPECT_EQ(find_recipe("rsb-a2").eval.crop_ratio, 0.95);
    EXPECT_EQ(find_recipe("resmlp").eval.crop_ratio, 0.9);
    EXPECT_EQ(find_recipe("transfer").eval.crop_ratio, 0.875);
    EXPECT_EQ(find_recipe("finetune-resolution").schedule.min_lr, 5e-6);
    const std::set<std::string> as_evaluated{
        "finetune-resolution",  // model.train(args.finetune == '')
        "dino-linear"};         // model.eval()
    for (const std::string& name : recipe_names())
        EXPECT_EQ(find_recipe(name).train.mode, as_evaluated.contains(name) ? "eval" : "train");
    EXPECT_EQ(find_recipe("patchconvnet").train.ema, 0);
}

// Another size of CaiT brings its own stochastic depth: no recipe may pin it.
TEST(BuiltinRecipes, CaitTakesTheDepthOfItsPreset) {
    for (const auto& [model, rate] : {std::pair{"cait_s36_224", 0.2}, {"cait_m48_448", 0.4}}) {
        Recipe recipe = find_recipe("cait");
        set_recipe_value(recipe, "model.name", model);
        EXPECT_EQ(drop_path(recipe), rate);
    }
}

TEST(RecipeDocumentation, HasEveryKeyAsItIs) {
    const std::string text = read_file(root() / "docs/recipes.md");
    const std::size_t start = text.find("## All keys");
    ASSERT_NE(start, std::string::npos);
    std::string expected = "|---|---|---|---|\n";
    for (const RecipeKey& key : recipe_keys())
        expected += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.standard_value,
                                key.expected, key.help);
    EXPECT_THAT(text.substr(start), testing::EndsWith(expected));
}

TEST(RecipeDocumentation, HasEveryRecipeWithItsModel) {
    const std::string text = read_file(root() / "docs/recipes.md");
    for (const std::string& name : recipe_names())
        EXPECT_THAT(text,
                    HasSubstr(fmt::format("| `{}` | `{}`", name, find_recipe(name).model.name)));
}

}  // namespace
}  // namespace cait
