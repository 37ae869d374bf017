// The recipes held, value by value, against the tables and commands that they come from, which
// recipe_sources.txt has with their lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "support/source_path.h"
#include "support/temporary_folder.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"
#include "train/recipe/recipe_toml.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

// What a source says of a recipe.
struct Source {
    std::string recipe;
    std::string model;  // that is named with it; empty: the recipe's own
    std::string text;
    SettingList values;
};

fs::path folder() { return test::source_path(__FILE__).parent_path(); }

const std::vector<Source>& sources() {
    static const std::vector<Source> all = [] {
        std::vector<Source> found;
        std::istringstream lines(read_file(folder() / "recipe_sources.txt"));
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line.starts_with('#')) continue;
            std::istringstream words(line);
            if (line.starts_with(' ')) {
                for (std::string word; words >> word;) {
                    const std::size_t equals = word.find('=');
                    found.back().values.emplace_back(word.substr(0, equals),
                                                     word.substr(equals + 1));
                }
                continue;
            }
            Source& source = found.emplace_back();
            words >> source.recipe >> source.model;
            if (source.model == "|") source.model.clear();
            source.text = line.substr(line.find("| ") + 2);
        }
        return found;
    }();
    return all;
}

// Whether the recipe has the value, however either is written.
bool has(const Recipe& recipe, const std::string& key, const std::string& value) {
    Recipe same = recipe;
    set_recipe_value(same, key, value);
    if (same == recipe) return true;
    // Settings of the model are texts, and most come with the preset.
    return key.starts_with("model.") && model_settings(recipe.model.name, recipe.model.settings) ==
                                            model_settings(recipe.model.name, same.model.settings);
}

TEST(RecipeSources, EveryValueIsThatOfItsSource) {
    std::size_t values = 0;
    for (const Source& source : sources()) {
        SCOPED_TRACE(source.recipe + " " + source.model + " | " + source.text);
        Recipe recipe = find_recipe(source.recipe);
        if (!source.model.empty()) set_recipe_values(recipe, {{"model.name", source.model}});
        EXPECT_NO_THROW(check(recipe));
        for (const auto& [key, value] : source.values)
            EXPECT_TRUE(has(recipe, key, value)) << "expected " << key << " " << value;
        values += source.values.size();
    }
    EXPECT_GE(values, 400U);
}

TEST(RecipeSources, AnotherValueIsNoticed) {
    const Recipe recipe = find_recipe("deit3-1k");
    for (const auto& [key, value] :
         SettingList{{"optim.lr", "4e-3"}, {"model.drop_path", "0.2"}, {"model.image_size", "192"}})
        EXPECT_FALSE(has(recipe, key, value)) << key;
}

// A key of a file, and the models that it is for: "for.deit3_large.optim.lr" is optim.lr of those.
struct FileKey {
    std::string key;
    std::string models;
};

FileKey file_key(const std::string& text) {
    if (text.starts_with("unused.")) return {text.substr(7), ""};
    if (!text.starts_with("for.")) return {text, ""};
    const std::size_t dot = text.find('.', 4);
    return {text.substr(dot + 1), text.substr(4, dot - 4)};
}

bool has_source(const std::string& recipe, const FileKey& key) {
    return std::ranges::any_of(sources(), [&](const Source& source) {
        return source.recipe == recipe && source.model.empty() == key.models.empty() &&
               source.model.starts_with(key.models) &&
               std::ranges::find(source.values, key.key, &SettingList::value_type::first) !=
                   source.values.end();
    });
}

TEST(RecipeSources, EveryValueOfAFileHasOne) {
    std::set<std::string> compared;
    for (const Source& source : sources()) compared.insert(source.recipe);
    const std::set<std::string> facts{"about", "base", "model.name", "model.expects_weights"};
    for (const std::string& name : compared) {
        const fs::path file = folder() / "../../../../recipes" / (name + ".toml");
        for (const TomlEntry& entry : parse_toml(read_file(file), name))
            EXPECT_TRUE(facts.contains(entry.key) || has_source(name, file_key(entry.key)))
                << name << ".toml:" << entry.line << ": " << entry.key;
    }
    // These are from no paper.
    const std::set<std::string> others{"detect",  "dino-small", "finetune",       "multi-label",
                                       "segment", "small",      "translate-small"};
    for (const std::string& name : recipe_names())
        EXPECT_NE(compared.contains(name), others.contains(name)) << name;
}

// Otherwise naming the model that a recipe has anyway would change something.
TEST(RecipeSources, NoRecipeHasOtherValuesForItsOwnModel) {
    for (const std::string& name : recipe_names()) {
        Recipe recipe = find_recipe(name);
        set_recipe_values(recipe, {{"model.name", recipe.model.name}});
        EXPECT_EQ(recipe, find_recipe(name)) << name;
    }
}

}  // namespace
}  // namespace cait
