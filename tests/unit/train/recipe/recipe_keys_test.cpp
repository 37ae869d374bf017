#include "train/recipe/recipe_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "cait/error.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_file.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string recipe_keys_refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const UsageError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        return error.what();
    }
    return "no usage error";
}

std::string set_refusal(const std::string& key, const std::string& value) {
    return recipe_keys_refusal([&] {
        Recipe recipe;
        set_recipe_value(recipe, key, value);
    });
}

using Change = std::function<void(Recipe&)>;

std::string check_refusal(const Change& change) {
    return recipe_keys_refusal([&] {
        Recipe recipe;
        change(recipe);
        check(recipe);
    });
}

TEST(RecipeKeys, AnotherModelKeepsOnlyTheSettingsThatItHas) {
    Recipe recipe;
    set_recipe_value(recipe, "model.dim", "96");
    set_recipe_value(recipe, "model.class_layers", "3");
    EXPECT_EQ(change_model(recipe, "deit_tiny_patch16_224"),
              (std::vector<std::string>{"model.class_layers"}));
    EXPECT_EQ(recipe.model.name, "deit_tiny_patch16_224");
    EXPECT_EQ(recipe.model.settings, (SettingList{{"dim", "96"}}));
    EXPECT_THAT(recipe_keys_refusal([&] { change_model(recipe, "deit_tiny_patch16"); }),
                HasSubstr("deit_tiny_patch16_224"));
}

TEST(RecipeKeys, AnotherModelBringsWhatTheRecipeHasForIt) {
    Recipe recipe;
    set_recipe_value(recipe, "model.drop_path", "0.1");
    recipe.for_models = {{"deit3_large_patch16_384", {{"model.drop_path", "0.3"}}},
                         {"deit3_large", {{"model.drop_path", "0.4"}, {"optim.lr", "2e-3"}}}};
    const Recipe before = recipe;
    auto notes = set_recipe_values(recipe, {{"model.name", "deit3_large_patch16_384"}});
    EXPECT_EQ(recipe.model.settings, (SettingList{{"drop_path", "0.3"}}));
    EXPECT_EQ(recipe.optim.lr, 2e-3);
    EXPECT_EQ(recipe.schedule.min_lr, before.schedule.min_lr);  // that rate is for that model
    EXPECT_EQ(notes, (std::vector<std::string>{
                         "the recipe has for deit3_large_patch16_384: optim.lr 2e-3, "
                         "model.drop_path 0.3"}));
    // What somebody asks for comes last, wherever it stands.
    recipe = before;
    notes = set_recipe_values(
        recipe, {{"model.drop_path", "0.7"}, {"model.name", "deit3_large_patch16_224"}});
    EXPECT_EQ(recipe.model.settings, (SettingList{{"drop_path", "0.7"}}));
    recipe = before;
    EXPECT_TRUE(set_recipe_values(recipe, {{"model.name", "deit3_base_patch16_224"}}).empty());
    EXPECT_EQ(recipe.model.settings, before.model.settings);
}

TEST(RecipeKeys, AnotherModelKeepsOnlyTheValuesThatItTakes) {
    Recipe recipe;
    set_recipe_value(recipe, "model.heads", "4");  // a VOLO has four numbers
    set_recipe_value(recipe, "model.class_layers", "3");
    EXPECT_EQ(change_model(recipe, "volo_d1_224"), (std::vector<std::string>{"model.heads"}));
    EXPECT_EQ(recipe.model.settings, (SettingList{{"class_layers", "3"}}));
}

TEST(RecipeKeys, ALearningRateChangesTheRateAlone) {
    Recipe recipe = find_recipe("small");
    const SchedulePart before = recipe.schedule;
    EXPECT_THAT(set_recipe_values(recipe, {{"optim.lr", "1e-4"}}), testing::IsEmpty());
    EXPECT_EQ(recipe.optim.lr, 1e-4);
    EXPECT_EQ(recipe.schedule, before);
}

TEST(RecipeKeys, AnotherDepthBringsItsStartOfTheBranches) {
    const auto set = [](const char* name, const SettingList& values) {
        Recipe recipe = find_recipe(name);
        std::vector<std::string> notes = set_recipe_values(recipe, values);
        for (const auto& [key, value] : model_settings(recipe.model.name, recipe.model.settings))
            if (key == "residual_init") return std::pair(value, notes);
        return std::pair(std::string(), notes);
    };
    const auto [start, notes] = set("cait", {{"model.depth", "12"}});
    EXPECT_EQ(start, "0.1");
    EXPECT_THAT(notes,
                testing::ElementsAre("with model.depth 12: model.residual_init 1e-05 -> 0.1"));
    EXPECT_THAT(set("cait", {{"model.depth", "20"}}).second, testing::IsEmpty());
    EXPECT_EQ(set("cait", {{"model.depth", "12"}, {"model.residual_init", "1e-5"}}).first, "1e-05");
    // A recipe's own value stays, and is named where the rule says otherwise than before.
    EXPECT_THAT(set("small", {{"model.depth", "6"}}).second, testing::IsEmpty());
    EXPECT_EQ(set("small", {{"model.depth", "36"}}).first, "1");
    EXPECT_THAT(
        set("small", {{"model.depth", "36"}}).second,
        testing::ElementsAre(AllOf(HasSubstr("model.residual_init stays 1"), HasSubstr("1e-06"))));
    EXPECT_THAT(set("cait", {{"model.depth", "12"}, {"model.residual", "none"}}).second,
                testing::IsEmpty());
}

TEST(RecipeKeys, APolicyOfNoneWakesNoJitter) {
    Recipe recipe = find_recipe("deit");
    EXPECT_EQ(recipe.augment.jitter, "0.3");
    const auto notes = set_recipe_values(recipe, {{"augment.policy", "none"}});
    EXPECT_EQ(recipe.augment.jitter, "0");
    EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("augment.jitter stays off")));
    recipe = find_recipe("deit");
    EXPECT_THAT(set_recipe_values(recipe, {{"augment.policy", "none"}, {"augment.jitter", "0.3"}}),
                testing::IsEmpty());
    EXPECT_EQ(recipe.augment.jitter, "0.3");
    // Here it had an effect before, and keeps or loses it.
    recipe = find_recipe("deit3-1k");
    EXPECT_THAT(set_recipe_values(recipe, {{"augment.policy", "none"}}), testing::IsEmpty());
    EXPECT_EQ(recipe.augment.jitter, "0.3");
    EXPECT_THAT(set_recipe_values(recipe, {{"augment.policy", "original"}}),
                testing::ElementsAre("augment.policy original replaces augment.jitter 0.3"));
    EXPECT_EQ(parse_recipe("base = \"deit\"\naugment.policy = \"none\"\n", "x").augment.jitter,
              "0");
}

// The head for tokens would not learn, and yet vote.
TEST(RecipeKeys, SmallTrainsEveryFamily) {
    for (const char* model :
         {"vit_tiny_patch16_224", "deit_tiny_patch16_224", "deit3_tiny_patch16_224",
          "cait_xxs24_224", "ceit_tiny_patch16_224", "volo_d1_224", "volo_d5_512", "resmlp_12_224",
          "patchconvnet_s20", "resnet18", "deepvit_16b"}) {
        Recipe recipe = find_recipe("small");
        const auto notes = set_recipe_values(recipe, {{"model.name", model}});
        EXPECT_NO_THROW(check(recipe)) << model;
        const SettingList settings = model_settings(model, recipe.model.settings);
        EXPECT_EQ(
            std::ranges::count(settings, std::pair<std::string, std::string>{"aux_head", "true"}),
            0);
    }
    Recipe recipe = find_recipe("volo");
    set_recipe_values(recipe, {{"model.name", "volo_d2_224"}});
    EXPECT_THAT(recipe.model.settings, testing::IsEmpty());
}

TEST(RecipeKeys, SetFieldsOfEveryKind) {
    Recipe recipe;
    set_recipe_value(recipe, "about", "mine");
    set_recipe_value(recipe, "data.batch", "64");
    set_recipe_value(recipe, "data.mean", "half");
    set_recipe_value(recipe, "augment.scale", "0.25,0.5");
    set_recipe_value(recipe, "augment.crop", "src");
    set_recipe_value(recipe, "augment.jitter", "0.4,0.4,0.2");
    set_recipe_value(recipe, "optim.name", "lamb");
    set_recipe_value(recipe, "optim.lr", "2e-3");
    set_recipe_value(recipe, "optim.nesterov", "no");
    set_recipe_value(recipe, "train.seed", "9000000000");
    Recipe expected;
    expected.about = "mine";
    expected.data.batch = 64;
    expected.data.mean = "half";
    expected.augment.scale = {0.25, 0.5};
    expected.augment.crop = CropKind::simple;
    expected.augment.jitter = "0.4,0.4,0.2";
    expected.optim.name = OptimizerKind::lamb;
    expected.optim.lr = 2e-3;
    expected.optim.nesterov = false;
    expected.train.seed = 9'000'000'000;
    EXPECT_EQ(recipe, expected);
}

TEST(RecipeKeys, EveryKeyTakesItsOwnValueAndChangesOnlyItsField) {
    Recipe recipe;
    Settings keys;
    bind(keys, recipe);
    std::set<std::string> names;
    for (const Settings::Key& key : keys.keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name;
        EXPECT_FALSE(key.help.empty()) << key.name;
        EXPECT_FALSE(key.expected.empty()) << key.name;
        set_recipe_value(recipe, key.name, key.get());
        EXPECT_EQ(recipe, Recipe{}) << key.name;
    }
}

// Another value for a key than the one that it has.
std::string other_value(const Settings::Key& key) {
    switch (key.kind) {
        case Settings::Kind::integer: return std::to_string(std::stoll(key.get()) + 1);
        case Settings::Kind::number: return key.get() == "0.25" ? "0.5" : "0.25";
        case Settings::Kind::flag: return key.get() == "true" ? "false" : "true";
        case Settings::Kind::list:
            if (key.name == "optim.accumulate") return "2";
            if (key.name == "augment.short_sides") return "64,96";
            if (key.expected.starts_with("FIRST")) return "0.5,0.75,0.25";
            return key.name.ends_with(".jitter") ? "0.5" : "0.5,0.75";
        case Settings::Kind::word: {
            // The last one has defaults of its own for keys that others have, too.
            if (key.name == "head.kind") return "linear";
            const std::size_t last = key.expected.rfind(", ") + 2;
            const std::string word = key.expected.substr(last);
            return word == key.get() ? key.expected.substr(0, key.expected.find(',')) : word;
        }
        case Settings::Kind::text: break;
    }
    if (key.name == "model.name") return "deit_tiny_patch16_224";
    if (key.name == "head.taps") return "0,1,2,3";
    return key.name == "augment.policy" ? "three" : "words";
}

TEST(RecipeKeys, AWarmUpInEpochsFollowsAShorterRunAndOneInStepsDoesNot) {
    Recipe recipe;
    recipe.schedule.epochs = 100;
    recipe.schedule.warmup = 5;
    Recipe in_steps = recipe;
    in_steps.schedule.warmup_steps = 100;
    EXPECT_THAT(set_recipe_values(recipe, {{"schedule.epochs", "8"}}),
                testing::ElementsAre("schedule.warmup 5 -> 0.4, to fit schedule.epochs 8"));
    EXPECT_DOUBLE_EQ(recipe.schedule.warmup, 0.4);
    EXPECT_THAT(set_recipe_values(in_steps, {{"schedule.epochs", "8"}}), testing::IsEmpty());
    EXPECT_DOUBLE_EQ(in_steps.schedule.warmup, 5);
}

TEST(RecipeKeys, NoTwoKeysShareAField) {
    Recipe source;
    Settings keys;
    bind(keys, source);
    for (const Settings::Key& key : keys.keys()) {
        // An epoch is the least length, which 0.25 is below.
        const std::string value = key.name == "schedule.epochs" ? "7" : other_value(key);
        Recipe recipe;
        set_recipe_value(recipe, key.name, value);
        Settings after;
        bind(after, recipe);
        int changed = 0;
        for (std::size_t i = 0; i < keys.keys().size(); ++i)
            changed += after.keys()[i].get() != keys.keys()[i].get() ? 1 : 0;
        EXPECT_EQ(changed, 1) << key.name << " to " << value;
    }
}

TEST(RecipeKeys, RefuseAnUnknownKeyWithTheNearest) {
    EXPECT_EQ(set_refusal("optim.lrr", "1"), "optim.lrr: unknown key; did you mean optim.lr?");
    EXPECT_EQ(set_refusal("lr", "1"), "lr: unknown key; did you mean optim.lr?");
    EXPECT_EQ(set_refusal("train.batch", "1"),
              "train.batch: unknown key; did you mean data.batch?");
    EXPECT_EQ(set_refusal("model.dept", "1"), "model.dept: unknown key; did you mean model.depth?");
    EXPECT_THAT(set_refusal("", "1"), HasSubstr("unknown key"));
    EXPECT_THAT(set_refusal("optim.", "1"), HasSubstr("unknown key"));
}

TEST(RecipeKeys, RefuseValuesThatAreNoneOrOutOfRange) {
    EXPECT_EQ(set_refusal("optim.lr", "nan"), "optim.lr: expected a finite number, found 'nan'");
    EXPECT_EQ(set_refusal("optim.lr", "0"), "optim.lr: expected 1e-12 to 1000, found 0");
    EXPECT_EQ(set_refusal("data.batch", "0"), "data.batch: expected 1 to 1000000, found 0");
    for (const char* value : {"inf", "-1", "", "1e-3x", "1e999", "fast", "0x1p3", " 1"})
        EXPECT_THAT(set_refusal("optim.lr", value), StartsWith("optim.lr: expected ")) << value;
    for (const char* value : {"-1", "1.5", "", "99999999999999999999", "1000001"})
        EXPECT_THAT(set_refusal("data.batch", value), StartsWith("data.batch: expected ")) << value;
    EXPECT_EQ(set_refusal("optim.name", "adam"),
              "optim.name: expected one of adamw, lamb, sgd, adagrad; found 'adam'");
    EXPECT_THAT(set_refusal("data.mean", "other"), HasSubstr("model, imagenet, half, data"));
    EXPECT_THAT(set_refusal("optim.nesterov", "maybe"), StartsWith("optim.nesterov: "));
    EXPECT_THAT(set_refusal("augment.policy", "rand-m9-x3"), HasSubstr("'x3'"));
    EXPECT_THAT(set_refusal("augment.jitter", "0.1,0.2"), StartsWith("augment.jitter: "));
    EXPECT_THAT(set_refusal("model.name", "cait_xxs25_224"), HasSubstr("cait_xxs24_224"));
    EXPECT_THAT(set_refusal("data.train", "folder:\xff"), HasSubstr("UTF-8"));
}

TEST(RecipeKeys, RefuseIntervalsThatAreNone) {
    for (const char* value :
         {"0.5", "", ",", "0.5,", "1,0.5", "0,1", "0.5,nan", "0.5,1.5", "1,2,3"})
        EXPECT_THAT(set_refusal("augment.scale", value), StartsWith("augment.scale: expected "))
            << value;
}

TEST(RecipeKeys, ARefusedValueChangesNothing) {
    Recipe recipe;
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"augment.scale", "1,0.5"},
                                     {"augment.policy", "diet"},
                                     {"model.name", "diet"},
                                     {"model.depth", "x"},
                                     {"optim.lr", "x"}})
        EXPECT_THROW(set_recipe_value(recipe, key, value), UsageError) << key;
    EXPECT_EQ(recipe, Recipe{});
}

TEST(RecipeKeys, SettingsOfTheModelAreKeptAndReplaced) {
    Recipe recipe;
    set_recipe_value(recipe, "model.depth", "4");
    set_recipe_value(recipe, "model.image_size", "64x32");
    set_recipe_value(recipe, "model.depth", "6");
    const SettingList expected{{"depth", "6"}, {"image_size", "64x32"}};
    EXPECT_EQ(recipe.model.settings, expected);
    EXPECT_NO_THROW(check(recipe));
    EXPECT_EQ(set_refusal("model.depth", "deep"),
              "model.depth: expected a whole number, found 'deep'");
}

TEST(RecipeKeys, ASettingOfAnotherFamilyWaitsForTheName) {
    Recipe recipe;
    set_recipe_value(recipe, "model.parallel", "2");  // DeiT III has it, CaiT does not
    EXPECT_THAT(recipe_keys_refusal([&] { check(recipe); }), HasSubstr("model.parallel"));
    set_recipe_value(recipe, "model.name", "deit3_small_patch16_224");
    EXPECT_NO_THROW(check(recipe));
}

TEST(RecipeCheck, AcceptsWhatStandsInTheStruct) { EXPECT_NO_THROW(check(Recipe{})); }

TEST(RecipeCheck, HoldsTheRangesOfFieldsThatWereSetInCode) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    const std::pair<const char*, Change> cases[] = {
        {"optim.lr", [](Recipe& r) { r.optim.lr = kNan; }},
        {"optim.lr", [](Recipe& r) { r.optim.lr = -1; }},
        {"optim.weight_decay", [](Recipe& r) { r.optim.weight_decay = kInfinite; }},
        {"data.batch", [](Recipe& r) { r.data.batch = 0; }},
        {"data.mean", [](Recipe& r) { r.data.mean = "middle"; }},
        {"augment.scale",
         [](Recipe& r) {
             r.augment.scale = {kNan, 1};
         }},
        {"augment.scale",
         [](Recipe& r) {
             r.augment.scale = {0.5, 0.25};
         }},
        {"augment.policy", [](Recipe& r) { r.augment.policy = "diet"; }},
        {"train.precision", [](Recipe& r) { r.train.precision = "fp8"; }},
        {"model.name", [](Recipe& r) { r.model.name = "diet"; }},
        {"schedule.epochs", [](Recipe& r) { r.schedule.epochs = 0; }},
        {"optim.beta2", [](Recipe& r) { r.optim.beta2 = 1; }},
        {"train.ema", [](Recipe& r) { r.train.ema = 1; }},
        {"loss.smoothing", [](Recipe& r) { r.loss.smoothing = 1; }},
    };
    for (const auto& [key, change] : cases)
        EXPECT_THAT(check_refusal(change), StartsWith(std::string(key) + ": ")) << key;
}

TEST(RecipeCheck, HoldsTheRulesAcrossFields) {
    const std::pair<const char*, Change> cases[] = {
        {"optim.accumulate: expected a divisor of data.batch 128, found 3",
         [](Recipe& r) { r.optim.accumulate = 3; }},
        {"data.batch: expected an even number",
         [](Recipe& r) {
             r.data.batch = 7;
             r.augment.mixup = 0.8;
         }},
        {"data.batch: expected an even number",
         [](Recipe& r) {
             r.data.batch = 7;
             r.augment.cutmix = 1;
             r.augment.mix_mode = MixMode::element;
         }},
        {"augment.mix_tokens: expected loss.name token_label",
         [](Recipe& r) { r.augment.mix_tokens = 1; }},
        {"data.batch: expected an even number, as augment.mix_tokens pairs images",
         [](Recipe& r) {
             r.data.batch = 7;
             r.augment.mix_tokens = 1;
         }},
        {"data.token_labels: expected loss.name token_label",
         [](Recipe& r) { r.data.token_labels = "maps"; }},
        {"data.token_labels: expected no teacher",
         [](Recipe& r) {
             r.data.token_labels = "maps";
             r.loss.name = "token_label";
             r.distill.kind = Distillation::tokens;
         }},
        {"train.mode: expected train with augment.mix_tokens",
         [](Recipe& r) {
             r.model.name = "volo_d1_224";
             r.loss.name = "token_label";
             r.augment.mix_tokens = 1;
             r.train.mode = "eval";
         }},
        {"train.mode: expected train with loss.cosub",
         [](Recipe& r) {
             r.loss.name = "bce";
             r.loss.cosub = true;
             r.train.mode = "eval";
         }},
        {"schedule.warmup: expected at most schedule.epochs 3, found 5",
         [](Recipe& r) { r.schedule.epochs = 3; }},
        {"schedule.min_lr: expected at most optim.lr 1e-06, found 1e-05",
         [](Recipe& r) { r.optim.lr = 1e-6; }},
        {"loss.smoothing: expected 0,",
         [](Recipe& r) {
             r.loss.name = "bce";
             r.loss.smoothing = 0.1;
         }},
        {"loss.cosub: expected loss.name bce", [](Recipe& r) { r.loss.cosub = true; }},
        {"loss.name: expected a model with a head for tokens",
         [](Recipe& r) { r.loss.name = "token_label"; }},
        {"distill.teacher: expected a model file",
         [](Recipe& r) { r.distill.kind = Distillation::soft; }},
        {"distill.cache: expected images that are always shown alike, found augment.crop rrc",
         [](Recipe& r) {
             r.distill.kind = Distillation::hard;
             r.distill.teacher = "t.safetensors";
             r.distill.cache = true;
         }},
        {"save.best: expected train.ema or save.average above 0",
         [](Recipe& r) { r.save.best = "top1_ema"; }},
    };
    for (const auto& [message, change] : cases)
        EXPECT_THAT(check_refusal(change), StartsWith(message));
}

TEST(RecipeKeys, ListsRiseAndMayBeEmpty) {
    Recipe recipe;
    set_recipe_value(recipe, "augment.short_sides", "480,512,800");
    EXPECT_EQ(recipe.augment.short_sides, (std::vector<std::int64_t>{480, 512, 800}));
    set_recipe_value(recipe, "augment.short_sides", "auto");
    EXPECT_TRUE(recipe.augment.short_sides.empty());
    set_recipe_value(recipe, "schedule.steps_at", "2.5");
    EXPECT_EQ(recipe.schedule.steps_at, (std::vector<double>{2.5}));
    set_recipe_value(recipe, "schedule.steps_at", "none");
    EXPECT_TRUE(recipe.schedule.steps_at.empty());
    for (const char* wrong : {"", "480,", "512,480", "480,480", "8", "100001", "480;512", "a"})
        EXPECT_THROW(set_recipe_value(recipe, "augment.short_sides", wrong), UsageError) << wrong;
    EXPECT_THROW(set_recipe_value(recipe, "schedule.steps_at", "0"), UsageError);
}

TEST(RecipeCheck, LetsPassWhatTheRulesAreNotAbout) {
    const Change cases[] = {
        [](Recipe& r) { r.data.batch = 7; },
        [](Recipe& r) {
            r.optim.lr = 1e-6;
            r.schedule.name = ScheduleKind::constant;
        },
        [](Recipe& r) { r.loss = {.name = "bce", .smoothing = 0.1, .bce_threshold = -1}; },
        [](Recipe& r) {
            r.distill.kind = Distillation::hard;
            r.distill.teacher = "t.safetensors";
            r.distill.cache = true;
            r.augment.crop = CropKind::squash;
            r.augment.flip = 0;
        },
    };
    for (const Change& change : cases) EXPECT_EQ(check_refusal(change), "no usage error");
}

TEST(RecipeCheck, HoldsTheRulesOfTheModel) {
    EXPECT_THAT(check_refusal([](Recipe& r) {
                    r.model.settings = {{"image_size", "225"}};
                }),
                HasSubstr("multiple of the patch size"));
    EXPECT_THAT(check_refusal([](Recipe& r) {
                    r.model.settings = {{"dept", "3"}};
                }),
                HasSubstr("unknown key model.dept"));
}

}  // namespace
}  // namespace cait
