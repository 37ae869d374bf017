#include "train/recipe/recipe_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/printable.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "system/file_bytes.h"
#include "train/recipe/builtin_recipes.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_keys.h"
#include "train/recipe/recipe_toml.h"

namespace cait {

namespace {

namespace fs = std::filesystem;

constexpr int kMostBases = 8;  // in a row; more is a circle

// Where a recipe's text came from.
struct Source {
    std::string name;  // opens messages
    fs::path file;     // empty: none
    int depth = 0;     // recipes that led here by `base`
};

Recipe parse(std::string_view text, const Source& source);

Recipe read(const FilePlace& place, int depth) {
    constexpr std::size_t kLargest = std::size_t{1} << 24;
    return parse(read_text(place, kLargest), {place.string(), place.path(), depth});
}

bool is_path(std::string_view name) {
    return name.find('/') != std::string_view::npos || name.ends_with(".toml");
}

const BuiltinRecipe& find_builtin(const std::string& name) {
    const auto all = builtin_recipes();
    const auto found = std::ranges::find(all, name, &BuiltinRecipe::name);
    if (found != all.end()) return *found;
    throw UsageError(fmt::format("unknown recipe '{}'; nearest: {}", printable(name),
                                 fmt::join(nearest_names(name, recipe_names()), ", ")));
}

Recipe parse_builtin(const BuiltinRecipe& recipe, int depth) {
    return parse(recipe.text, {fmt::format("recipe {}", recipe.name), {}, depth});
}

// The file that `base` means, if it means one: a file may be called as the built-in recipe that it
// starts from.
std::optional<fs::path> base_file(const std::string& base, const Source& source) {
    const fs::path folder = source.file.parent_path();
    if (is_path(base)) return folder / base;
    if (source.file.empty()) return std::nullopt;
    const fs::path beside = folder / (base + ".toml");
    std::error_code ignored;
    if (!fs::exists(beside, ignored) || fs::equivalent(beside, source.file, ignored))
        return std::nullopt;
    return beside;
}

Recipe start_from(const std::string& base, const Source& source) {
    if (source.depth >= kMostBases)
        throw Error(
            fmt::format("base: more than {} recipes that start from each other", kMostBases));
    if (const auto file = base_file(base, source)) return read(*file, source.depth + 1);
    return parse_builtin(find_builtin(base), source.depth + 1);
}

// The kinds of TOML value that a key takes.
std::vector<TomlKind> kinds_for(Settings::Kind kind) {
    switch (kind) {
        case Settings::Kind::integer: return {TomlKind::integer};
        case Settings::Kind::number: return {TomlKind::number, TomlKind::integer};
        case Settings::Kind::flag: return {TomlKind::boolean};
        case Settings::Kind::list:
            return {TomlKind::array, TomlKind::number, TomlKind::integer, TomlKind::string};
        case Settings::Kind::word:
        case Settings::Kind::text: break;
    }
    return {TomlKind::string};
}

void check_kind(const TomlEntry& entry, std::span<const TomlKind> kinds) {
    const bool has_text = entry.kind != TomlKind::array || !entry.text.empty();
    if (has_text && std::ranges::find(kinds, entry.kind) != kinds.end()) return;
    throw Error(fmt::format("{}: expected {}, found {}", printable(entry.key),
                            toml_kind_name(kinds.front()), toml_kind_name(entry.kind)));
}

bool is_table(const std::string& name, const Settings& keys) {
    return std::ranges::any_of(
        keys.keys(), [&](const Settings::Key& key) { return key.name.starts_with(name + "."); });
}

void apply(Recipe& recipe, const TomlEntry& entry) {
    Settings keys;
    bind(keys, recipe);
    const auto key = std::ranges::find(keys.keys(), entry.key, &Settings::Key::name);
    if (key != keys.keys().end()) {
        check_kind(entry, kinds_for(key->kind));
    } else if (is_table(entry.key, keys)) {
        check_kind(entry, std::array{TomlKind::table});  // which is empty
        return;
    } else if (entry.key.starts_with("model.")) {
        check_kind(entry, std::array{TomlKind::string, TomlKind::integer, TomlKind::number,
                                     TomlKind::boolean, TomlKind::array});
    } else {
        throw Error(fmt::format("{}: unknown key{}", printable(entry.key),
                                nearest_key_hint(recipe, entry.key)));
    }
    set_recipe_value(recipe, entry.key, entry.text);
}

bool is_for_models(const TomlEntry& entry) {
    return entry.key == "for" || entry.key.starts_with("for.");
}

// "for.deit3_large.optim.lr": kept until such a model is named, and tried on one of them now.
void keep_for_models(Recipe& recipe, const TomlEntry& entry) {
    const std::size_t start = std::min(entry.key.find('.'), entry.key.size());
    const std::size_t end = entry.key.find('.', start + 1);
    if (end == std::string::npos)
        return check_kind(entry, std::array{TomlKind::table});  // which is empty
    const std::string models = entry.key.substr(start + 1, end - start - 1);
    const TomlEntry value{entry.key.substr(end + 1), entry.kind, entry.text, entry.line};
    if (value.key == "model.name" || value.key == "about")
        throw Error(fmt::format("{}: expected a value that a model may have of its own",
                                printable(entry.key)));
    Recipe tried = recipe;
    tried.model.name = first_model(models);
    apply(tried, value);
    if (value.kind == TomlKind::table) return;  // which is empty, too
    auto kept = std::ranges::find(recipe.for_models, models, &ModelValues::models);
    if (kept == recipe.for_models.end())
        kept = recipe.for_models.insert(kept, ModelValues{models, {}});
    const auto known = std::ranges::find(kept->values, value.key, &SettingList::value_type::first);
    if (known != kept->values.end())
        known->second = value.text;
    else
        kept->values.emplace_back(value.key, value.text);
}

// Runs an action on an entry; what it throws then names the file and the line.
template <class Action>
void at_line(const Source& source, const TomlEntry& entry, const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        throw Error(fmt::format("{}:{}: {}", source.name, entry.line, error.what()));
    }
}

Recipe parse(std::string_view text, const Source& source) {
    std::vector<TomlEntry> entries = parse_toml(text, source.name);
    Recipe recipe;
    const auto base = std::ranges::find(entries, "base", &TomlEntry::key);
    if (base != entries.end()) {
        at_line(source, *base, [&] {
            check_kind(*base, std::array{TomlKind::string});
            recipe = start_from(base->text, source);
        });
        entries.erase(base);
    }
    // The settings of a model are held against the model, so its name goes first.
    std::ranges::stable_partition(entries,
                                  [](const TomlEntry& entry) { return entry.key == "model.name"; });
    for (const TomlEntry& entry : entries)
        at_line(source, entry, [&] {
            if (is_for_models(entry)) return keep_for_models(recipe, entry);
            apply(recipe, entry);
            // What the base has for this model; what this file says comes after it.
            if (entry.key == "model.name") take_model_values(recipe);
        });
    return recipe;
}

}  // namespace

Recipe read_recipe(const FilePlace& place) { return read(place, 0); }

Recipe parse_recipe(std::string_view text, const std::string& name) {
    return parse(text, {name, {}, 0});
}

Recipe find_recipe(const std::string& name_or_path) {
    return is_path(name_or_path) ? read_recipe(name_or_path)
                                 : parse_builtin(find_builtin(name_or_path), 0);
}

std::vector<std::string> recipe_names() {
    std::vector<std::string> names;
    for (const BuiltinRecipe& recipe : builtin_recipes()) names.emplace_back(recipe.name);
    std::ranges::sort(names);
    return names;
}

std::string recipe_about(const std::string& name) {
    return parse_builtin(find_builtin(name), 0).about;
}

}  // namespace cait
