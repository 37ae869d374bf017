#include "find_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "cait/error.h"
#include "train/recipe/recipe_keys.h"

namespace cait::app {

namespace {

constexpr const char* kWeights = "model.weights";
constexpr const char* kEpoch = "model.weights_epoch";

const std::string* value_of_word(const SettingList& words, std::string_view key) {
    const auto found = std::find_if(words.rbegin(), words.rend(),
                                    [&](const auto& word) { return word.first == key; });
    return found == words.rend() ? nullptr : &found->second;
}

bool has_key(const std::vector<OwnKey>& keys, std::string_view key) {
    return std::ranges::find(keys, key, &OwnKey::key) != keys.end();
}

// What the weights of a run are, "RUN:last", and which epoch that is; nothing of other weights.
std::string weights_of_epoch(const std::string& text, std::string& epoch) {
    const auto run = run_weights(text);
    if (!run) {
        // The recipe.toml of a run, taken as a recipe, has both the file and the epoch.
        const bool is_that = std::filesystem::path(text).filename() == epoch + ".safetensors";
        if (epoch != "auto" && !is_that)
            throw UsageError(fmt::format(
                "{}: has no effect: it is read only with the folder of a run as {}, found '{}'",
                kEpoch, kWeights, text));
        return text;
    }
    if (!run->epoch.empty()) {
        if (epoch != "auto" && epoch != run->epoch)
            throw UsageError(fmt::format("{}: expected {}, as {} says, found '{}'", kEpoch,
                                         run->epoch, kWeights, epoch));
        epoch = run->epoch;
        return text;
    }
    return epoch == "auto" ? text : fmt::format("{}:{}", text, epoch);
}

// The model of the weights replaces that of the recipe, but not what the same file says of it.
void repeat_own_settings(const Recipe& recipe, const std::vector<OwnKey>& own, SettingList& words) {
    for (const auto& [name, value] : recipe.model.settings)
        if (const std::string key = "model." + name; has_key(own, key))
            words.emplace(words.begin(), key, value);
}

std::string effective(const SettingList& words, const char* key, const std::string& value) {
    const std::string* word = value_of_word(words, key);
    return word == nullptr ? value : *word;
}

using FindFile = std::function<std::string(const std::string& text, const std::string& model)>;

void find_own_weights(Recipe& recipe, const std::vector<OwnKey>& own, SettingList& words,
                      const std::string& model, const FindFile& file) {
    const std::string weights = effective(words, kWeights, recipe.model.weights);
    const bool by_word = value_of_word(words, kWeights) != nullptr;
    const bool epoch_by_word = value_of_word(words, kEpoch) != nullptr;
    // A run that goes on names a file, and the epoch that it was.
    if (weights.empty() || (!by_word && !epoch_by_word && !has_key(own, kWeights))) return;
    std::string epoch = effective(words, kEpoch, recipe.model.weights_epoch);
    // That of the file belongs to the weights of the file.
    if (by_word && !epoch_by_word && !recipe.model.weights.empty()) epoch = "auto";
    set_recipe_value(recipe, kEpoch, epoch);  // throws for what is none
    const bool is_run = run_weights(weights).has_value();
    const std::string found = file(weights_of_epoch(weights, epoch), model);
    recipe.model.weights_epoch = is_run ? std::filesystem::path(found).stem().string() : epoch;
    std::erase_if(words, [](const auto& word) { return word.first == kEpoch; });
    if (!by_word && has_key(own, "model.name")) {
        recipe.model.weights = found;
        return;
    }
    if (!by_word) repeat_own_settings(recipe, own, words);
    std::erase_if(words, [](const auto& word) { return word.first == kWeights; });
    words.emplace(words.begin(), kWeights, found);
}

// One of those that take no epoch of their own.
struct OtherWeights {
    const char* key;
    std::string& value;  // of the recipe
    std::string model;   // for `official`
};

}  // namespace

void find_weights(Recipe& recipe, const std::vector<OwnKey>& own, SettingList& words,
                  const ResolveOptions& options) {
    const std::string model = effective(words, "model.name", recipe.model.name);
    const std::string teacher = effective(words, "distill.teacher", recipe.distill.teacher);
    const FindFile file = [&](const std::string& text, const std::string& of) {
        return text.empty() ? text : resolve_weights(text, of, options).string();
    };
    find_own_weights(recipe, own, words, model, file);
    for (const OtherWeights& other :
         {OtherWeights{"model.scales", recipe.model.scales, model},
          OtherWeights{"clusters.weights", recipe.clusters.weights, ""},
          OtherWeights{"distill.teacher", recipe.distill.teacher, ""},
          OtherWeights{"distill.weights", recipe.distill.weights, teacher}}) {
        other.value = file(other.value, other.model);
        for (auto& [key, value] : words)
            if (key == other.key) value = file(value, other.model);
    }
}

}  // namespace cait::app
