#include "train/sweep/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "evaluate/measure.h"
#include "evaluate/scores.h"
#include "system/file_bytes.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_keys.h"
#include "train/sweep/arms.h"
#include "train/sweep/study_reader.h"

namespace cait {

namespace {

constexpr std::size_t kMostLevels = 10'000;

// { from = 1e-4, to = 1e-2, steps = 5, log = true }
std::vector<std::string> range_values(const StudyReader& reader, const std::string& key,
                                      const TomlNode& node) {
    reader.only(node, {"from", "to", "steps", "log"}, key + ".");
    double from = 0, to = 0;
    bool logarithmic = false;
    reader.number(node, "from", from, -INFINITY, "a number");
    reader.number(node, "to", to, -INFINITY, "a number");
    reader.flag(node, "log", logarithmic);
    const TomlNode* steps = reader.find(node, "steps");
    if (steps == nullptr || reader.find(node, "to") == nullptr)
        reader.expected(key, node, "a range with from, to and steps");
    const std::int64_t count = reader.whole(key + ".steps", *steps, 2);
    if (count > std::int64_t(kMostLevels)) reader.expected(key + ".steps", *steps, "fewer steps");
    if (logarithmic && !(from > 0 && to > 0))
        reader.expected(key, node, "from and to above 0 where log is true");
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < count; ++i) {
        const double share = double(i) / double(count - 1);
        const double at =
            logarithmic ? from * std::pow(to / from, share) : from + (to - from) * share;
        values.push_back(fmt::format("{}", parse_number(fmt::format("{:.6g}", at))));
    }
    return values;
}

std::vector<std::string> factor_values(const StudyReader& reader, const std::string& key,
                                       const TomlNode& node) {
    if (node.kind == TomlKind::table) return range_values(reader, key, node);
    if (node.kind != TomlKind::array || node.items.empty())
        reader.expected(key, node, "a list of at least one value, or a range");
    std::vector<std::string> values;
    for (const TomlNode& item : node.items) values.push_back(reader.value(key, item));
    return values;
}

void check_levels(const StudyReader& reader, const StudyFactor& factor) {
    std::set<std::vector<std::string>> seen;
    for (const auto& level : factor.levels)
        if (!seen.insert(level).second)
            reader.fail(factor.line,
                        fmt::format("{}: '{}' is there twice", factor.keys[0], level[0]));
}

// A factor for every key.
std::vector<StudyFactor> factors_of(const StudyReader& reader, const TomlNode& root) {
    std::vector<StudyFactor> factors;
    reader.flatten(root, "", [&](const std::string& key, const TomlNode& node) {
        StudyFactor factor{{key}, {}, node.line};
        for (std::string& value : factor_values(reader, key, node))
            factor.levels.push_back({std::move(value)});
        check_levels(reader, factor);
        factors.push_back(std::move(factor));
    });
    return factors;
}

// One factor for all keys of a [[together]].
StudyFactor together_of(const StudyReader& reader, const TomlNode& root) {
    StudyFactor factor{{}, {}, root.line};
    reader.flatten(root, "", [&](const std::string& key, const TomlNode& node) {
        const std::vector<std::string> values = factor_values(reader, key, node);
        if (!factor.keys.empty() && values.size() != factor.levels.size())
            reader.fail(node.line,
                        fmt::format("{}: expected {} values, as {} has them, found {}", key,
                                    factor.levels.size(), factor.keys[0], values.size()));
        factor.levels.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) factor.levels[i].push_back(values[i]);
        factor.keys.push_back(key);
    });
    if (factor.keys.size() < 2) reader.fail(root.line, "together: expected two keys or more");
    check_levels(reader, factor);
    return factor;
}

StudyWhere where_of(const StudyReader& reader, const TomlNode& root) {
    StudyWhere where;
    reader.flatten(root, "", [&](const std::string& key, const TomlNode& node) {
        std::vector<std::string> values;
        if (node.kind == TomlKind::array)
            for (const TomlNode& item : node.items) values.push_back(reader.value(key, item));
        else
            values.push_back(reader.value(key, node));
        if (values.empty()) reader.expected(key, node, "at least one value");
        where.emplace_back(key, std::move(values));
    });
    return where;
}

std::vector<std::int64_t> seeds_of(const StudyReader& reader, const TomlNode& node) {
    std::vector<std::int64_t> seeds;
    if (node.kind == TomlKind::table) {
        reader.only(node, {"from", "count"}, "seeds.");
        const TomlNode *from = reader.find(node, "from"), *count = reader.find(node, "count");
        if (from == nullptr || count == nullptr)
            reader.expected("seeds", node, "a list, or a table with from and count");
        const std::int64_t first = reader.whole("seeds.from", *from, 0);
        const std::int64_t number = reader.whole("seeds.count", *count, 1);
        if (number > std::int64_t(kMostLevels)) reader.expected("seeds.count", *count, "fewer");
        for (std::int64_t i = 0; i < number; ++i) seeds.push_back(first + i);
        return seeds;
    }
    for (const TomlNode& item : reader.items("seeds", node)) {
        const std::int64_t seed = reader.whole("seeds", item, 0);
        if (std::ranges::find(seeds, seed) != seeds.end())
            reader.fail(item.line, fmt::format("seeds: {} is there twice", seed));
        seeds.push_back(seed);
    }
    if (seeds.empty()) reader.expected("seeds", node, "at least one seed");
    return seeds;
}

StudyArm arm_of(const StudyReader& reader, const TomlNode& root) {
    reader.only(root, {"name", "settings", "seeds", "needs", "tune", "val"}, "arm.");
    StudyArm arm;
    arm.line = root.line;
    reader.text(root, "name", arm.name);
    if (arm.name.empty() || arm.name[0] == '.' || !std::ranges::all_of(arm.name, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   std::string_view("._+-").find(c) != std::string_view::npos;
        }))
        reader.fail(root.line, fmt::format("arm.name: expected letters, digits and any of ._+-, "
                                           "found '{}'",
                                           printable(arm.name)));
    if (const TomlNode* node = reader.find(root, "settings"))
        arm.settings = reader.settings(reader.table("arm.settings", *node));
    if (const TomlNode* node = reader.find(root, "seeds")) arm.seeds = seeds_of(reader, *node);
    reader.text(root, "val", arm.val);
    if (const TomlNode* node = reader.find(root, "tune"))
        arm.tune = factors_of(reader, reader.table("arm.tune", *node));
    if (const TomlNode* node = reader.find(root, "needs")) {
        reader.only(reader.table("arm.needs", *node), {"arm", "score", "least"}, "arm.needs.");
        StudyNeed need;
        reader.text(*node, "arm", need.arm);
        reader.text(*node, "score", need.score);
        reader.number(*node, "least", need.least, -INFINITY, "a number");
        arm.need = need;
    }
    return arm;
}

StudyWhere side_of(const StudyReader& reader, const TomlNode& contrast, const std::string& key) {
    const TomlNode* node = reader.find(contrast, key);
    if (node == nullptr) return {};
    if (node->kind == TomlKind::string) return {{"arm", {node->text}}};
    StudyWhere where = where_of(reader, reader.table("contrast." + key, *node));
    if (where.empty()) reader.expected("contrast." + key, *node, "an arm");
    return where;
}

StudyContrast contrast_of(const StudyReader& reader, const TomlNode& root) {
    reader.only(root,
                {"name", "better", "worse", "better_from", "worse_from", "score", "margin",
                 "primary", "kind", "key", "ratio"},
                "contrast.");
    StudyContrast contrast;
    contrast.line = root.line;
    reader.text(root, "name", contrast.name);
    if (contrast.name.empty()) reader.fail(root.line, "contrast.name: expected a name");
    contrast.better = side_of(reader, root, "better");
    contrast.worse = side_of(reader, root, "worse");
    contrast.better_from = side_of(reader, root, "better_from");
    contrast.worse_from = side_of(reader, root, "worse_from");
    reader.text(root, "score", contrast.score);
    reader.flag(root, "primary", contrast.primary);
    std::string kind = "paired";
    reader.text(root, "kind", kind);
    if (kind != "paired" && kind != "largest_stable")
        reader.fail(root.line, fmt::format("contrast.kind: expected paired or largest_stable, "
                                           "found '{}'",
                                           printable(kind)));
    if (contrast.better.empty() || contrast.worse.empty())
        reader.fail(root.line,
                    fmt::format("contrast {}: expected better and worse", contrast.name));
    if (kind == "largest_stable") {
        contrast.kind = ContrastKind::largest_stable;
        reader.text(root, "key", contrast.key);
        reader.number(root, "ratio", contrast.ratio, 1, "a number from 1");
        if (contrast.key.empty() || contrast.ratio == 0)
            reader.fail(root.line,
                        fmt::format("contrast {}: expected key and ratio", contrast.name));
        return contrast;
    }
    if (reader.find(root, "margin") == nullptr)
        reader.fail(root.line, fmt::format("contrast {}: expected a margin", contrast.name));
    reader.number(root, "margin", contrast.margin, 0,
                  "a number from 0, by which `better` exceeds `worse`");
    return contrast;
}

StudyTune tune_of(const StudyReader& reader, const TomlNode& root) {
    reader.only(root, {"keys", "together", "arms", "seed", "holdout", "search", "tries"}, "tune.");
    StudyTune tune;
    if (const TomlNode* node = reader.find(root, "keys"))
        tune.factors = factors_of(reader, reader.table("tune.keys", *node));
    for (const TomlNode& node : reader.tables(root, "together"))
        tune.factors.push_back(together_of(reader, node));
    if (const TomlNode* node = reader.find(root, "arms"))
        for (const TomlNode& item : reader.items("tune.arms", *node))
            tune.arms.push_back(reader.value("tune.arms", item));
    if (const TomlNode* node = reader.find(root, "seed"))
        tune.seed = reader.whole("tune.seed", *node, 0);
    reader.number(root, "holdout", tune.holdout, 0.001, "a share of the training images");
    if (const TomlNode* node = reader.find(root, "tries"))
        tune.tries = reader.whole("tune.tries", *node, 1);
    std::string search = "grid";
    reader.text(root, "search", search);
    if (search == "random")
        tune.search = TuneSearch::random;
    else if (search == "halving")
        tune.search = TuneSearch::halving;
    else if (search != "grid")
        reader.fail(root.line, fmt::format("tune.search: expected grid, random or halving, found "
                                           "'{}'",
                                           printable(search)));
    if (tune.search == TuneSearch::random && tune.tries == 0)
        reader.fail(root.line, "tune.tries: expected a number where search is random");
    return tune;
}

StudyNarrow narrow_of(const StudyReader& reader, const TomlNode& root, const SweepStudy& study) {
    reader.only(root, {"key", "seed"}, "narrow.");
    StudyNarrow narrow{{}, study.seeds.front(), root.line};
    reader.text(root, "key", narrow.key);
    const auto varies = [&](const StudyFactor& factor) {
        return std::ranges::find(factor.keys, narrow.key) != factor.keys.end();
    };
    if (std::ranges::none_of(study.factors, varies))
        reader.fail(root.line, fmt::format("narrow.key: expected a key of [factors], found '{}'",
                                           printable(narrow.key)));
    if (const TomlNode* node = reader.find(root, "seed")) {
        narrow.seed = reader.whole("narrow.seed", *node, 0);
        if (std::ranges::find(study.seeds, narrow.seed) == study.seeds.end())
            reader.expected("narrow.seed", *node, "one of the seeds");
    }
    return narrow;
}

std::map<std::string, std::string> defines_of(const StudyReader& reader, const TomlNode& root,
                                              const std::map<std::string, std::string>& given) {
    std::map<std::string, std::string> defines;
    if (const TomlNode* node = reader.find(root, "define"))
        for (const auto& [name, value] : reader.table("define", *node).members) {
            if (value.kind != TomlKind::string)
                reader.expected("define." + name, value, "a string");
            const auto found = given.find(name);
            defines[name] = found == given.end() ? value.text : found->second;
        }
    return defines;
}

// Every ${NAME} in the file has a value.
void check_names(const StudyReader& reader, const SweepStudy& study, const TomlNode& node) {
    for (const auto& [key, value] : node.members) check_names(reader, study, value);
    for (const TomlNode& item : node.items) check_names(reader, study, item);
    if (node.kind != TomlKind::string) return;
    try {
        study.fill(node.text);
    } catch (const Error& error) {
        reader.fail(node.line, error.what());
    }
}

void read_data(const StudyReader& reader, const TomlNode& root, SweepStudy& study) {
    const TomlNode* data = reader.find(root, "data");
    if (data == nullptr) reader.fail(1, "data: expected [data] with train and test");
    reader.only(reader.table("data", *data), {"train", "val", "test", "eval", "halves"}, "data.");
    reader.text(*data, "train", study.train);
    reader.text(*data, "val", study.val);
    reader.text(*data, "test", study.test);
    reader.flag(*data, "halves", study.halves);
    if (const TomlNode* evals = reader.find(*data, "eval"))
        for (const auto& [name, words] : reader.table("data.eval", *evals).members) {
            std::vector<std::string> list;
            for (const TomlNode& word : reader.items("data.eval." + name, words))
                list.push_back(reader.value("data.eval." + name, word));
            study.evals.emplace_back(name, std::move(list));
        }
    if (study.train.empty()) reader.fail(data->line, "data.train: expected a data set");
    if (study.test.empty() && study.evals.empty())
        reader.fail(data->line, "data.test: expected a data set");
}

void check_arms(const StudyReader& reader, const SweepStudy& study) {
    std::set<std::string> names;
    for (const StudyArm& arm : study.arms)
        if (!names.insert(arm.name).second)
            reader.fail(arm.line, fmt::format("arm.name: '{}' is there twice", arm.name));
    for (const StudyArm& arm : study.arms)
        if (arm.need && !names.contains(arm.need->arm))
            reader.fail(
                arm.line,
                fmt::format(
                    "arm {}: needs '{}', which is no arm; nearest: {}", arm.name,
                    printable(arm.need->arm),
                    nearest_names(arm.need->arm,
                                  std::vector<std::string>(names.begin(), names.end()), 1)[0]));
    const bool tunes =
        std::ranges::any_of(study.arms, [](const StudyArm& arm) { return !arm.tune.empty(); });
    if (study.tune && study.tune->factors.empty() && !tunes)
        reader.fail(1, "tune.keys: expected at least one key");
    if (!study.tune && tunes) reader.fail(1, "tune: expected [tune], as an arm has a grid");
    std::set<std::string> contrasts;
    for (const StudyContrast& contrast : study.contrasts)
        if (!contrasts.insert(contrast.name).second)
            reader.fail(contrast.line,
                        fmt::format("contrast.name: '{}' is there twice", contrast.name));
}

// Another loss than the recipe's may be learned by all runs.
std::string score_of_task(const StudyReader& reader, const SweepStudy& study) {
    Recipe recipe = base_recipe(study);
    for (const StudySetting& setting : study.settings) {
        if (setting.key != "loss.name") continue;
        try {
            set_recipe_value(recipe, setting.key, study.fill(setting.value));
        } catch (const UsageError& error) {
            reader.fail(setting.line, error.what());
        }
    }
    return leading_score(task_of(recipe));
}

void choose_score(const StudyReader& reader, const TomlNode& root, SweepStudy& study) {
    reader.text(root, "score", study.score);
    if (study.score.empty()) study.score = score_of_task(reader, study);
    if (const Score* known = find_score(known_scores(), study.score);
        known != nullptr && known->better == Better::lower)
        reader.expected("score", *reader.find(root, "score"), "a score of which more is better");
    for (StudyArm& arm : study.arms)
        if (arm.need && arm.need->score.empty()) arm.need->score = study.score;
    for (StudyContrast& contrast : study.contrasts)
        if (contrast.score.empty()) contrast.score = study.score;
}

}  // namespace

std::string SweepStudy::fill(const std::string& text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t open = text.find("${", at);
        const std::size_t close = open == std::string::npos ? open : text.find('}', open);
        if (close == std::string::npos) return result + text.substr(at);
        const std::string key = text.substr(open + 2, close - open - 2);
        const auto found = defines.find(key);
        if (found == defines.end())
            throw Error(fmt::format("${{{}}}: expected a name of [define]", printable(key)));
        if (found->second.empty())
            throw Error(fmt::format("${{{0}}} has no value: give --define {0}=VALUE", key));
        result += text.substr(at, open - at) + found->second;
        at = close + 1;
    }
    return result;
}

SweepStudy parse_study(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given) {
    const TomlNode root = parse_toml_tree(text, file);
    const StudyReader reader(file);
    reader.only(root,
                {"title", "recipe", "settings", "data", "define", "factors", "together", "skip",
                 "arm", "seeds", "contrast", "budget_hours", "chance", "allow_unused", "extend",
                 "tune", "narrow", "score"},
                "");
    SweepStudy study;
    study.file = file;
    study.name = std::filesystem::path(file).stem().string();
    study.title = study.name;
    reader.text(root, "title", study.title);
    reader.text(root, "recipe", study.recipe);
    if (study.recipe.empty()) reader.fail(1, "recipe: expected the name of a recipe");
    study.defines = defines_of(reader, root, given);
    check_names(reader, study, root);
    if (const TomlNode* node = reader.find(root, "settings"))
        study.settings = reader.settings(reader.table("settings", *node));
    read_data(reader, root, study);
    if (const TomlNode* node = reader.find(root, "factors"))
        study.factors = factors_of(reader, reader.table("factors", *node));
    for (const TomlNode& node : reader.tables(root, "together"))
        study.factors.push_back(together_of(reader, node));
    for (const TomlNode& node : reader.tables(root, "skip"))
        study.skips.push_back(where_of(reader, node));
    for (const TomlNode& node : reader.tables(root, "arm"))
        study.arms.push_back(arm_of(reader, node));
    if (study.arms.empty() && study.factors.empty())
        reader.fail(1, "arm: expected [[arm]] or [factors]");
    const TomlNode* seeds = reader.find(root, "seeds");
    if (seeds == nullptr) reader.fail(1, "seeds: expected a list of seeds");
    study.seeds = seeds_of(reader, *seeds);
    for (const TomlNode& node : reader.tables(root, "contrast"))
        study.contrasts.push_back(contrast_of(reader, node));
    reader.number(root, "budget_hours", study.budget_hours, 0, "hours from 0");
    reader.number(root, "chance", study.chance, 0, "a score from 0");
    reader.flag(root, "allow_unused", study.allow_unused);
    reader.flag(root, "extend", study.extend);
    if (const TomlNode* node = reader.find(root, "tune"))
        study.tune = tune_of(reader, reader.table("tune", *node));
    if (const TomlNode* node = reader.find(root, "narrow"))
        study.narrow = narrow_of(reader, reader.table("narrow", *node), study);
    check_arms(reader, study);
    choose_score(reader, root, study);
    return study;
}

SweepStudy read_study(const FilePlace& place, const std::map<std::string, std::string>& given) {
    return parse_study(read_text(place), place.string(), given);
}

}  // namespace cait
