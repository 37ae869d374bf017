// Every key of a recipe and of a model family with the values that it takes and its default: which
// of a hundred bounds a change has moved is seen here and nowhere else.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>

#include "models/catalogue.h"
#include "support/source_path.h"
#include "support/stored_text.h"
#include "train/recipe/recipe_keys.h"

namespace cait {
namespace {

std::filesystem::path stored(const char* name) {
    return test::source_path(__FILE__).parent_path() / name;
}

TEST(RecipeRanges, AndDefaultsAreThoseOfTheTable) {
    std::string table;
    for (const RecipeKey& key : recipe_keys())
        table += fmt::format("{} | {} | {}\n", key.name, key.expected, key.standard_value);
    test::expect_stored(stored("recipe_ranges.txt"), table);
}

TEST(ModelRanges, AndValuesAreThoseOfTheTable) {
    std::string table;
    for (const Family& family : families()) {
        const ModelSpec spec = configure(family.presets.front().name);
        Settings keys;
        spec.architecture->bind(keys);
        table += family.presets.front().name + '\n';
        for (const Settings::Key& key : keys.keys())
            table += fmt::format("  {} | {} | {}\n", key.name, key.expected, key.get());
    }
    test::expect_stored(stored("model_ranges.txt"), table);
}

// "0 to 1", as people are told: both ends are taken, what lies beyond is not.
void expect_bounds(const Settings::Key& key) {
    const std::size_t to = key.expected.find(" to ");
    const bool open = key.expected.starts_with("at least ");
    if (to == std::string::npos && !open) return;
    const std::string least = open ? key.expected.substr(9) : key.expected.substr(0, to);
    const bool whole = key.kind == Settings::Kind::integer;
    const auto beyond = [&](const std::string& bound, int sign) {
        if (whole) return std::to_string(parse_integer(bound) + sign);
        const double value = parse_number(bound);
        return fmt::format("{}", value + sign * std::max(1e-3 * std::fabs(value), 1e-31));
    };
    EXPECT_NO_THROW(key.set(least)) << key.name;
    EXPECT_EQ(parse_number(key.get()), parse_number(least)) << key.name;
    EXPECT_THROW(key.set(beyond(least, -1)), UsageError) << key.name << " " << beyond(least, -1);
    if (open) return;
    const std::string most = key.expected.substr(to + 4);
    EXPECT_NO_THROW(key.set(most)) << key.name;
    EXPECT_EQ(parse_number(key.get()), parse_number(most)) << key.name;
    EXPECT_THROW(key.set(beyond(most, 1)), UsageError) << key.name << " " << beyond(most, 1);
}

TEST(RecipeRanges, AreHeldAtBothEnds) {
    Recipe recipe;
    Settings keys;
    bind(keys, recipe);
    std::size_t numbers = 0;
    for (const Settings::Key& key : keys.keys()) {
        if (key.kind != Settings::Kind::integer && key.kind != Settings::Kind::number) continue;
        expect_bounds(key);
        ++numbers;
    }
    EXPECT_GE(numbers, 60U);
}

TEST(ModelRanges, AreHeldAtBothEnds) {
    for (const Family& family : families()) {
        const ModelSpec spec = configure(family.presets.front().name);
        Settings keys;
        spec.architecture->bind(keys);
        for (const Settings::Key& key : keys.keys())
            if (key.kind == Settings::Kind::integer || key.kind == Settings::Kind::number)
                expect_bounds(key);
    }
}

}  // namespace
}  // namespace cait
