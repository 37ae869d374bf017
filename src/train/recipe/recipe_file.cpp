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
    std::vector<OwnKey>* own = nullptr;
    bool of_run = false;  // which somebody else may have made: no other file is read for it
};

Recipe parse(std::string_view text, const Source& source, const Recipe& start = {});

constexpr std::size_t kLargestRecipe = std::size_t{1} << 24;

Recipe read(const FilePlace& place, int depth, std::vector<OwnKey>* own) {
    return parse(read_text(place, kLargestRecipe), {place.string(), place.path(), depth, own});
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
    if (source.of_run) {
        if (is_path(base))
            throw Error(
                fmt::format("base: expected a built-in recipe in that of a run, found the file {}",
                            printable(base)));
        return parse_builtin(find_builtin(base), source.depth + 1);
    }
    // Its keys are not the reader's own: who starts from a recipe may switch a part of it off.
    if (const auto file = base_file(base, source)) return read(*file, source.depth + 1, nullptr);
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

constexpr std::array kSettingKinds{TomlKind::string, TomlKind::integer, TomlKind::number,
                                   TomlKind::boolean, TomlKind::array};

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
        check_kind(entry, kSettingKinds);
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

// "unused.augment.jitter": what nothing reads, until something does.
constexpr std::string_view kUnused = "unused";
// "preset.depth": what the model had brought along when the file was written.
constexpr std::string_view kPreset = "preset";

bool is_in(const TomlEntry& entry, std::string_view table) {
    return entry.key == table || entry.key.starts_with(fmt::format("{}.", table));
}

// The entry without the name of its table; nothing for a table that is empty.
std::optional<TomlEntry> inner_entry(const TomlEntry& entry, std::string_view table) {
    if (entry.key == table) {
        check_kind(entry, std::array{TomlKind::table});
        return std::nullopt;
    }
    return TomlEntry{entry.key.substr(table.size() + 1), entry.kind, entry.text, entry.line};
}

// Only what this program's preset has otherwise becomes a setting of the recipe: the rest goes on
// following the model, should another one be named.
void keep_preset(Recipe& recipe, const TomlEntry& entry) {
    const auto value = inner_entry(entry, kPreset);
    if (!value) return;
    check_kind(entry, kSettingKinds);
    const auto value_now = [&](const SettingList& settings) {
        for (const auto& [key, text] : model_settings(recipe.model.name, settings))
            if (key == value->key) return text;
        throw Error(
            fmt::format("{}: {} has no such setting", printable(entry.key), recipe.model.name));
    };
    SettingList with = recipe.model.settings;
    const std::string now = value_now(with);
    with.emplace_back(value->key, value->text);
    if (value_now(with) != now) set_recipe_value(recipe, "model." + value->key, value->text);
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

bool sets_key(const std::vector<TomlEntry>& entries, std::string_view key) {
    return std::ranges::find(entries, key, &TomlEntry::key) != entries.end();
}

Recipe parse(std::string_view text, const Source& source, const Recipe& start) {
    std::vector<TomlEntry> entries = parse_toml(text, source.name);
    Recipe recipe = start;
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
    // What the preset brought is compared with what all other settings leave of it.
    std::ranges::stable_partition(entries,
                                  [](const TomlEntry& entry) { return !is_in(entry, kPreset); });
    const Recipe before = recipe;
    for (const TomlEntry& entry : entries)
        at_line(source, entry, [&] {
            if (is_for_models(entry)) return keep_for_models(recipe, entry);
            if (is_in(entry, kPreset)) return keep_preset(recipe, entry);
            if (is_in(entry, kUnused)) {
                if (const auto inner = inner_entry(entry, kUnused)) apply(recipe, *inner);
                return;
            }
            apply(recipe, entry);
            // What the base has for this model; what this file says comes after it.
            if (entry.key == "model.name") take_model_values(recipe);
            if (source.own != nullptr && entry.kind != TomlKind::table)
                add_own_key(*source.own,
                            {entry.key, fmt::format("{}:{}", source.name, entry.line)});
        });
    if (sets_key(entries, "augment.policy") && !sets_key(entries, "augment.jitter") &&
        !sets_key(entries, "unused.augment.jitter"))
        keep_jitter_off(recipe, before);
    return recipe;
}

}  // namespace

Recipe read_recipe(const FilePlace& place, std::vector<OwnKey>* own) { return read(place, 0, own); }

Recipe read_run_recipe(const FilePlace& place) {
    Recipe start;
    start.schedule.scale_ends = true;  // as it was before there was a key
    return parse(read_text(place, kLargestRecipe),
                 {.name = place.string(), .file = place.path(), .of_run = true}, start);
}

Recipe parse_recipe(std::string_view text, const std::string& name) {
    return parse(text, {name, {}, 0});
}

Recipe find_recipe(const std::string& name_or_path, std::vector<OwnKey>* own) {
    return is_path(name_or_path) ? read_recipe(name_or_path, own)
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
