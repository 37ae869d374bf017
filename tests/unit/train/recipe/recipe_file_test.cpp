#include "train/recipe/recipe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "train/recipe/recipe_keys.h"
#include "train/recipe/recipe_toml.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string recipe_file_refusal(std::string_view text) {
    try {
        parse_recipe(text, "x.toml");
    } catch (const UsageError&) {
        return "a usage error, although it is the file that is wrong";
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(RecipeFile, ReadsEveryKindOfValue) {
    const Recipe recipe = parse_recipe(R"(
about = "mine"
[model]
depth = 4
talking_heads = "none"
class_scale = false
mlp_ratio = 2.5
image_size = "64x32"
name = "cait_s24_224"
[data]
batch = 32
[augment]
scale = [0.5, 1]
ratio = "0.5,2"
jitter = 0.4
[optim]
lr = 1
nesterov = false
)",
                                       "x.toml");
    Recipe expected;
    expected.about = "mine";
    expected.model.name = "cait_s24_224";
    expected.model.settings = {{"depth", "4"},
                               {"talking_heads", "none"},
                               {"class_scale", "false"},
                               {"mlp_ratio", "2.5"},
                               {"image_size", "64x32"}};
    expected.data.batch = 32;
    expected.augment.scale = {0.5, 1};
    expected.augment.ratio = {0.5, 2};
    expected.augment.jitter = "0.4";
    expected.optim.lr = 1;
    expected.optim.nesterov = false;
    EXPECT_EQ(recipe, expected);
}

TEST(RecipeFile, AListIsAnArrayToo) {
    const Recipe recipe = parse_recipe(
        "[model]\nname = \"volo_d1_224\"\nlayers = [2, 2, 4, 1]\n"
        "[augment]\njitter = [0.4, 0.4, 0.2, 0.1]\n",
        "x.toml");
    EXPECT_EQ(recipe.model.settings.at(0).second, "2,2,4,1");
    EXPECT_EQ(recipe.augment.jitter, "0.4,0.4,0.2,0.1");
}

TEST(RecipeFile, NamesFileLineAndKey) {
    EXPECT_EQ(recipe_file_refusal("\n[optim]\nlrr = 1\n"),
              "x.toml:3: optim.lrr: unknown key; did you mean optim.lr?");
    EXPECT_EQ(recipe_file_refusal("[optim]\nlr = \"fast\"\n"),
              "x.toml:2: optim.lr: expected a number, found a string");
    EXPECT_EQ(recipe_file_refusal("[optim]\n\nlr = nan\n"),
              "x.toml:3: optim.lr: expected a finite number, found 'nan'");
    EXPECT_EQ(recipe_file_refusal("[data]\nbatch = 0\n"),
              "x.toml:2: data.batch: expected 1 to 1000000, found 0");
    EXPECT_EQ(recipe_file_refusal("[data]\nbatch = 1.5\n"),
              "x.toml:2: data.batch: expected a whole number, found a number");
    EXPECT_EQ(recipe_file_refusal("[model]\ndim = \"x\"\n"),
              "x.toml:2: model.dim: expected a whole number, found 'x'");
    EXPECT_EQ(recipe_file_refusal("[model]\ndept = 3\n"),
              "x.toml:2: model.dept: unknown key; did you mean model.depth?");
    EXPECT_THAT(recipe_file_refusal("[model]\nname = \"diet\"\n"),
                StartsWith("x.toml:2: model.name: unknown"));
}

// Somebody else may have made the run: no other file is read for its recipe.
TEST(RecipeFile, OfARunStartsFromNoOtherFile) {
    const TemporaryFolder folder;
    write_file(folder / "small.toml", "[optim]\nlr = 0.25\n");
    const auto of_run = [&](const std::string& base) {
        write_file(folder / "recipe.toml", "base = \"" + base + "\"\n");
        return read_run_recipe(folder / "recipe.toml");
    };
    EXPECT_EQ(of_run("small").optim, find_recipe("small").optim);
    EXPECT_EQ(read_recipe(folder / "recipe.toml").optim.lr, 0.25);  // of a user's own
    for (const char* base : {"./small.toml", "/etc/passwd", "small.toml"})
        EXPECT_THAT([&] { of_run(base); },
                    testing::ThrowsMessage<Error>(HasSubstr("base: expected a built-in recipe")))
            << base;
}

TEST(RecipeFile, TheFirstMistakeIsTheOneThatIsNamed) {
    EXPECT_THAT(recipe_file_refusal("[save]\nstep = 1\n[data]\nbatc = 1\n"),
                StartsWith("x.toml:2: save.step:"));
}

TEST(RecipeFile, RefusesValuesOfAnotherType) {
    for (const char* text :
         {"optim = 3", "[optim.lr]", "[optim]\nlr = [1, 2]", "[optim]\nlr = {a = 1}",
          "[optim]\nlr = true", "[optim]\nlr = 1979-05-27", "[optim]\nnesterov = 1",
          "[optim]\nnesterov = \"true\"", "[optim]\nname = 3", "[[optim]]\nlr = 1", "about = 3",
          "base = 3", "[augment]\nscale = [[0.1], [1]]", "[augment]\nscale = []",
          "[augment]\nscale = true", "[model]\ndepth = {a = 1}", "[model]\ndepth = 1979-05-27"})
        EXPECT_THAT(recipe_file_refusal(text), AllOf(StartsWith("x.toml:"), HasSubstr("expected")))
            << text;
    EXPECT_THAT(recipe_file_refusal("[optimm]"), HasSubstr("optimm: unknown key"));
    EXPECT_EQ(recipe_file_refusal("[optim]\n[data]\n"), "no error");  // nothing is said in them
}

TEST(RecipeFile, RefusesWhatIsNotToml) {
    for (const char* text : {"lr", "[optim", "[#", "[ #]", "[[ #", "[", "[]",
                             "a = ", "a = 1\na = 2", "\xff\xfe", "a = \"\n\""})
        EXPECT_THAT(recipe_file_refusal(text), StartsWith("x.toml:")) << text;
    EXPECT_THAT(recipe_file_refusal(std::string_view("\0", 1)), StartsWith("x.toml:"));
}

TEST(RecipeFile, RefusesHostileSizesAndDepths) {
    EXPECT_THAT(recipe_file_refusal(std::string((1 << 20) + 1, '#')),
                HasSubstr("at most 1048576 bytes"));
    EXPECT_EQ(recipe_file_refusal(std::string(1 << 20, '#')), "no error");
    EXPECT_THAT(recipe_file_refusal("a = " + std::string(500'000, '[')), StartsWith("x.toml:1: "));
    std::string key = "a";
    for (int i = 0; i < 400'000; ++i) key += ".a";
    EXPECT_THAT(recipe_file_refusal(key + " = 1"), HasSubstr("dots"));
    EXPECT_THAT(recipe_file_refusal("[" + key + "]"), HasSubstr("dots"));
    // Each level of values with as many dots as a line may have.
    std::string mixed = "x = ";
    for (int i = 0; i < 1000; ++i) mixed += "[\n{" + key.substr(0, 121) + " = ";
    EXPECT_THAT(recipe_file_refusal(mixed), StartsWith("x.toml:"));
}

// Where the parser would run into undefined behaviour.
TEST(RecipeFile, TakesForeignLettersInStringsAndCommentsOnly) {
    EXPECT_EQ(parse_recipe("about = \"größer \\\" ä\"  # für später\n", "x").about, "größer \" ä");
    EXPECT_EQ(parse_recipe("about = 'größer'", "x").about, "größer");
    EXPECT_EQ(parse_recipe("about = \"'''\"  # ä", "x").about, "'''");
    for (const char* text :
         {"größe = 1", "about = 1\"ϔ\"", "about = \"a\" ä", "[aä]", "about = \"\"\"\\\n ä\"\"\""})
        EXPECT_THAT(recipe_file_refusal(text), HasSubstr("beyond ASCII")) << text;
}

TEST(RecipeFile, KeysFromTheFileStayOnOneLineOfAMessage) {
    const std::string message = recipe_file_refusal("\"a\\nb\\u0007\" = 1\n");
    EXPECT_EQ(message.find_first_of("\n\a"), std::string::npos) << message;
}

TEST(RecipeFile, StartsFromAFileBesideItThenFromTheBuiltIn) {
    const TemporaryFolder folder;
    write_file(folder / "a.toml", "base = \"deit\"\n[data]\nbatch = 64\n");
    write_file(folder / "b.toml", "base = \"a\"\n[schedule]\nepochs = 7\n");
    const Recipe deit = find_recipe("deit");
    Recipe expected = deit;
    expected.data.batch = 64;
    expected.schedule.epochs = 7;
    EXPECT_EQ(read_recipe(folder / "b.toml"), expected);
    EXPECT_EQ(find_recipe((folder / "b.toml").string()), expected);
    // A file may have the name of what it starts from.
    write_file(folder / "deit.toml", "base = \"deit\"\n[data]\nbatch = 8\n");
    EXPECT_EQ(read_recipe(folder / "deit.toml").schedule.epochs, 300);
    // And goes before the built-in one.
    EXPECT_EQ(read_recipe(folder / "a.toml").data.batch, 64);
    write_file(folder / "deit.toml", "[optim]\nlr = 0.25\n");
    EXPECT_EQ(read_recipe(folder / "a.toml").optim.lr, 0.25);
    // By its path, seen from the file that says so.
    write_file(folder / "c.toml", "base = \"./a.toml\"\n");
    EXPECT_EQ(read_recipe(folder / "c.toml").data.batch, 64);
}

// A larger model needs other values than the recipe's own.
TEST(RecipeFile, KeepsWhatItHasForSomeModels) {
    const TemporaryFolder folder;
    write_file(folder / "a.toml",
               "[model]\nname = \"deit3_base_patch16_224\"\ndrop_path = 0.1\n"
               "[for.deit3_large]\nmodel.drop_path = 0.4\noptim.lr = 1e-3\n"
               "[for.deit3_large_patch16_384]\nmodel.drop_path = 0.3\n[for.deit3_huge.optim]\n");
    const Recipe recipe = read_recipe(folder / "a.toml");
    EXPECT_EQ(recipe.model.settings, (SettingList{{"drop_path", "0.1"}}));
    const std::vector<ModelValues> kept{
        {"deit3_large", {{"model.drop_path", "0.4"}, {"optim.lr", "0.001"}}},
        {"deit3_large_patch16_384", {{"model.drop_path", "0.3"}}}};
    EXPECT_EQ(recipe.for_models, kept);
    EXPECT_EQ(parse_recipe(recipe_text(recipe), "again"), recipe) << recipe_text(recipe);

    // A recipe on top of it that names such a model has its values, and may have others.
    write_file(folder / "b.toml",
               "base = \"a\"\n[model]\nname = \"deit3_large_patch16_224\"\n"
               "[data]\nbatch = 8\n[for.deit3_large]\nmodel.drop_path = 0.2\n");
    const Recipe large = read_recipe(folder / "b.toml");
    EXPECT_EQ(large.model.settings, (SettingList{{"drop_path", "0.4"}}));
    EXPECT_EQ(large.optim.lr, 1e-3);
    EXPECT_EQ(large.for_models.at(0).values.at(0).second, "0.2");
    EXPECT_EQ(large.for_models.at(0).values.at(1).second, "0.001");
    write_file(folder / "c.toml",
               "base = \"a\"\n[optim]\nlr = 0.5\n[model]\nname = \"deit3_large_patch16_384\"\n");
    EXPECT_EQ(read_recipe(folder / "c.toml").model.settings, (SettingList{{"drop_path", "0.3"}}));
    EXPECT_EQ(read_recipe(folder / "c.toml").optim.lr, 0.5);
}

TEST(RecipeFile, RefusesWhatNoModelCouldTake) {
    EXPECT_EQ(recipe_file_refusal("[for.deit3_large]\noptim.lrr = 1\n"),
              "x.toml:2: optim.lrr: unknown key; did you mean optim.lr?");
    EXPECT_EQ(recipe_file_refusal("[for.deit3_large]\nmodel.depth = \"deep\"\n"),
              "x.toml:2: model.depth: expected a whole number, found 'deep'");
    EXPECT_THAT(recipe_file_refusal("\n[for.deit3_big]\noptim.lr = 1\n"),
                AllOf(StartsWith("x.toml:3: expected how the name of a model starts"),
                      HasSubstr("found 'deit3_big'")));
    for (const char* text :
         {"for = 3", "[for]\ndeit = 1", "[for.deit]\noptim = 3", "[for.deit]\nabout = \"x\"",
          "[for.deit]\nmodel.name = \"deit3_base_patch16_224\"", "[for.\"\"]\noptim.lr = 1",
          "[for.deit]\noptim.lr = \"fast\"", "[[for]]\noptim.lr = 1"})
        EXPECT_THAT(recipe_file_refusal(text), AllOf(StartsWith("x.toml:"), HasSubstr("expected")))
            << text;
}

TEST(RecipeFile, RefusesCirclesAndMissingBases) {
    const TemporaryFolder folder;
    const auto message = [&](const char* name) {
        try {
            read_recipe(folder / name);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    write_file(folder / "a.toml", "base = \"b\"\n");
    write_file(folder / "b.toml", "base = \"a\"\n");
    EXPECT_THAT(message("a.toml"), HasSubstr("start from each other"));
    write_file(folder / "c.toml", "\nbase = \"diet\"\n");
    EXPECT_THAT(message("c.toml"),
                AllOf(HasSubstr("c.toml:2: unknown recipe 'diet'"), HasSubstr("deit")));
    write_file(folder / "d.toml", "base = \"none.toml\"\n");
    EXPECT_THAT(message("d.toml"), AllOf(HasSubstr("d.toml:1: "), HasSubstr("none.toml")));
    EXPECT_THAT(message("none.toml"), HasSubstr("none.toml"));
}

TEST(RecipeFile, UnknownNamesListTheNearest) {
    try {
        find_recipe("diet");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("unknown recipe 'diet'"), HasSubstr("deit")));
    }
    EXPECT_THROW(find_recipe(""), UsageError);
    EXPECT_THROW(recipe_about("diet"), UsageError);
}

TEST(RecipeText, ReadsBackAsTheSameRecipe) {
    Recipe recipe;
    recipe.about = "a \"quoted\" \\ line\nand\ttab \x7f, größer";
    recipe.model.name = "volo_d1_224";
    recipe.model.settings = {{"layers", "2,2,4,1"}, {"image_size", "64x32"}, {"mlp_ratio", "1e-01"},
                             {"drop_path", "0.1"},  {"aux_head", "no"},      {"classes", "10"}};
    recipe.data.train = "folder:/tmp/a b?x=y";
    recipe.augment.scale = {0.1 + 0.2, 1};
    recipe.augment.jitter = "0.40,0.4,0.2";
    recipe.optim.lr = 1.0 / 3;
    recipe.optim.weight_decay = 1e-8;
    recipe.optim.clip_at = 123456789;
    recipe.schedule.min_lr = 5e-324;
    recipe.loss.bce_threshold = -1;
    recipe.train.seed = std::numeric_limits<std::int64_t>::max();
    recipe.for_models = {{"volo_d5", {{"model.layers", "2,2,4,1"}, {"data.train", "12"}}},
                         {"volo", {{"augment.policy", "none"}, {"augment.scale", "0.5,1"}}}};
    const std::string text = recipe_text(recipe);
    EXPECT_EQ(parse_recipe(text, "again"), recipe) << text;
    EXPECT_EQ(recipe_text(parse_recipe(text, "again")), text);
}

// Texts are compared, so what is written as a number has to come back as the same text.
TEST(RecipeText, NumbersForSomeModelsReadBack) {
    const Recipe recipe = parse_recipe(
        "[for.deit]\noptim.weight_decay = -0.0\nmodel.drop_path = -0.0\noptim.lr = 1e+2\n"
        "optim.clip_at = 10000000\nschedule.warmup_lr = 0x10\naugment.jitter = 0.40\n",
        "x.toml");
    EXPECT_EQ(recipe.for_models.at(0).values.at(0).second, "0");
    EXPECT_EQ(parse_recipe(recipe_text(recipe), "again"), recipe) << recipe_text(recipe);
}

TEST(RecipeText, IsCompleteAndCommented) {
    const std::string text = recipe_text(Recipe{});
    EXPECT_THAT(text, HasSubstr("\n[optim]\n# optimiser (adamw, lamb, sgd, adagrad)\nname = \"adamw\"\n"));
    EXPECT_THAT(text, HasSubstr("scale = [0.08, 1]\n"));
    std::size_t values = 0;
    std::size_t comments = 0;
    for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
        comments += text[start] == '#' ? 1 : 0;
        values += text[start] != '#' && text[start] != '[' && text[start] != '\n' ? 1 : 0;
    }
    EXPECT_EQ(values, comments);
    EXPECT_EQ(values, parse_toml(text, "x").size());
    EXPECT_GE(values, 75U);
}

TEST(RecipeText, HasWhatThePresetBrings) {
    Recipe recipe = find_recipe("cait");
    set_recipe_values(recipe, {{"model.name", "cait_s36_224"}, {"model.heads", "6"}});
    const std::string text = recipe_text(recipe);
    const std::size_t preset = text.find("\n[preset]");
    ASSERT_NE(preset, std::string::npos);
    EXPECT_LT(text.find("\nheads = 6\n"), preset);
    for (const char* line : {"\ndrop_path = 0.2\n", "\nresidual_init = 1e-06\n", "\ndepth = 36\n",
                             "\ntalking_heads = \"both\"\n", "\nclass_layers = 2\n"})
        EXPECT_GT(text.find(line, preset), preset) << line;
    const std::string model = text.substr(0, text.find("\n[data]"));
    EXPECT_THAT(model, testing::Not(HasSubstr("\nclasses = ")));      // the data's
    EXPECT_THAT(text, testing::Not(HasSubstr("\nclass_insert = ")));  // nothing reads it
    EXPECT_EQ(parse_recipe(text, "again"), recipe);
    // A program whose presets differ, and somebody who edits the file.
    std::string edited = text;
    edited.replace(edited.find("drop_path = 0.2"), 15, "drop_path = 0.9");
    EXPECT_EQ(parse_recipe(edited, "x").model.settings,
              (SettingList{{"heads", "6"}, {"drop_path", "0.9"}}));
    EXPECT_EQ(recipe_file_refusal("[preset]\ndept = 3\n"),
              "x.toml:2: preset.dept: cait_xxs24_224 has no such setting");
}

TEST(RecipeText, KeepsWhatNothingReadsApart) {
    Recipe recipe = find_recipe("deit");
    recipe.model.settings = {{"drop_path_rule", "constant"}, {"drop_path", "0"}};
    const std::string text = recipe_text(recipe);
    EXPECT_THAT(text, HasSubstr("\n[unused]\n# read only with model.drop_path above 0\n"
                                "model.drop_path_rule = \"constant\"\n"));
    EXPECT_THAT(text, HasSubstr("\naugment.jitter = 0.3\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("\njitter = 0.3")));
    EXPECT_EQ(parse_recipe(text, "again"), recipe);
    EXPECT_EQ(recipe_text(parse_recipe(text, "again")), text);
}

// Before schedule.scale_ends, a small batch lowered both ends.
TEST(RecipeFile, ARunGoesOnByTheRulesThatItBeganWith) {
    const TemporaryFolder folder;
    write_file(folder / "recipe.toml", "[optim]\nlr = 1e-3\n");
    EXPECT_TRUE(read_run_recipe(folder / "recipe.toml").schedule.scale_ends);
    EXPECT_FALSE(read_recipe(folder / "recipe.toml").schedule.scale_ends);
    write_file(folder / "recipe.toml", recipe_text(Recipe{}));
    EXPECT_EQ(read_run_recipe(folder / "recipe.toml"), Recipe{});
}

TEST(TomlLiteral, IsBareOnlyWhereItReadsBackTheSame) {
    EXPECT_EQ(toml_literal("12"), "12");
    EXPECT_EQ(toml_literal("1e-05"), "1e-05");
    EXPECT_EQ(toml_literal("true"), "true");
    EXPECT_EQ(toml_literal("4,4,8"), "[4, 4, 8]");
    for (const char* text :
         {"", "012", "1e5", "inf", "nan", "-0", "64x32", "1,", ",1", "a,1", "+1"})
        EXPECT_EQ(toml_literal(text), '"' + std::string(text) + '"');
}

}  // namespace
}  // namespace cait
