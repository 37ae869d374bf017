#include "command_words.h"

#include <CLI/CLI.hpp>

#include "models/catalogue.h"
#include "option_groups.h"
#include "system/download/download_list.h"
#include "train/recipe/recipe_file.h"
#include "weights/published/published_weights.h"

namespace cait::app {

namespace {

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (const Family& family : families())
        for (const Preset& preset : family.presets) names.push_back(preset.name);
    return names;
}

// Names that the program knows, where an option takes one of them.
std::vector<std::string> known_names(const std::string& path, const std::string& option) {
    if (option == "--model" || (path == "models" && option == "names")) return model_names();
    if (path == "train" && option == "recipe") return recipe_names();
    std::vector<std::string> names;
    if (path == "data get" && option == "name")
        for (const ListedDataset& dataset : downloadable_datasets()) names.push_back(dataset.name);
    if ((path == "weights get" && option == "model") ||
        (path == "weights list" && option == "models"))
        for (const PublishedWeights& one : published_weights())
            if (one.variant.empty()) names.emplace_back(one.model);
    return names;
}

// CLI11 describes a checked value as "TEXT:{fp32,bf16}" or "INT:INT in [1 - 9]".
void read_type(const std::string& type, OptionWords& words) {
    const std::size_t brace = type.find(":{"), range = type.find(":INT in [");
    words.value = type.substr(0, std::min(brace, range));
    if (brace == std::string::npos) return;
    const std::string list = type.substr(brace + 2, type.find('}') - brace - 2);
    words.choices = CLI::detail::split(list, ',');
}

OptionWords words_of(const CLI::Option& option, const std::string& path) {
    OptionWords words;
    words.positional = option.get_positional();
    words.name = words.positional ? option.get_name(true) : "--" + option.get_lnames().at(0);
    words.help = option.get_description();
    words.initial = option.get_default_str();
    if (option.get_items_expected_max() != 0) read_type(option.get_type_name(), words);
    if (words.choices.empty()) words.choices = known_names(path, words.name);
    return words;
}

std::vector<const CLI::Option*> options_in_order(const CLI::App& app) {
    std::vector<const CLI::Option*> options =
        app.get_options([](const CLI::Option* one) { return one->get_positional(); });
    for (const std::string& heading : option_headings(app))
        for (const CLI::Option* option : app.get_options())
            if (option->get_group() == heading && option->nonpositional())
                options.push_back(option);
    return options;
}

void collect(const CLI::App& app, const std::string& path, std::vector<CommandWords>& all) {
    CommandWords words{path, app.get_group(), app.get_description(), app.get_footer(), {}, {}};
    for (const CLI::Option* option : options_in_order(app))
        words.options.push_back(words_of(*option, path));
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* command : commands) words.commands.push_back(command->get_name());
    all.push_back(std::move(words));
    for (const CLI::App* command : commands)
        collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
                all);
}

}  // namespace

std::vector<CommandWords> command_words(const CLI::App& app) {
    std::vector<CommandWords> all;
    collect(app, "", all);
    return all;
}

std::string last_word(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

}  // namespace cait::app
