#include "command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "engine/node_formats.h"
#include "system/atomic_file.h"
#include "system/sandbox.h"

namespace cait::app {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& summary) {
    CLI::App* command = parent.add_subcommand(name, summary);
    command->get_help_ptr()->group(kGeneralOptions);
    return command;
}

void set_example(CLI::App& command, const std::string& example) {
    command.footer("\nExample:\n  " + example + "\n");
}

CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& help) {
    return command.add_option(name, values, help)->allow_extra_args(false)->take_all();
}

void add_recipe_settings(CLI::App& command, std::vector<std::string>& set) {
    add_repeatable(command, "--set", set, "Change any key of the recipe; may be repeated")
        ->type_name("KEY=VALUE");
}

SettingList recipe_settings(const std::vector<std::string>& set) {
    SettingList settings;
    for (const std::string& text : set) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos)
            throw UsageError(fmt::format("--set: expected KEY=VALUE, found '{}'", text));
        settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return settings;
}

void ModelOptions::add_to(CLI::App& command, bool with_weights) {
    const OptionGroup group(command, kModelOptions);
    command.add_option("--model", model, "A name from `cait models`")->type_name("NAME");
    add_repeatable(command, "--set", set,
                   keeps
                       ? "Change a setting, e.g. model.classes=10, or keep parts of a model out of "
                         "int8: quantize.keep=blocks.0.*,blocks.1.*; may be repeated"
                       : "Change a setting, e.g. model.classes=10; may be repeated")
        ->type_name("model.KEY=VALUE");
    add_allow_unused(command, allow_unused);
    if (!with_weights) return;
    command.add_flag("--ema", prefer_ema, "Use the averaged weights of a checkpoint with both");
    command.add_flag("--allow-non-finite", allow_non_finite, "Accept NaN and infinite weights");
}

void add_allow_unused(CLI::App& command, bool& allowed) {
    command.add_flag("--allow-unused", allowed,
                     "Accept settings that have no effect; otherwise an error names them");
}

void ModelOptions::add_fresh_head_to(CLI::App& command) {
    const OptionGroup group(command, kModelOptions);
    command.add_flag("--allow-fresh-head", allow_fresh_head,
                     "Accept weights whose class head does not fit or is missing: a random head, "
                     "whose answers mean nothing, takes its place");
}

namespace {

constexpr std::string_view kKeep = "quantize.keep=";

}  // namespace

SettingList ModelOptions::settings() const {
    constexpr std::string_view kPrefix = "model.";
    SettingList settings;
    for (const std::string& text : set) {
        if (keeps && text.starts_with(kKeep)) continue;
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || !text.starts_with(kPrefix))
            throw UsageError(fmt::format("--set: expected model.KEY=VALUE{}, found '{}'",
                                         keeps ? " or quantize.keep=PATTERN" : "", text));
        settings.emplace_back(text.substr(kPrefix.size(), equals - kPrefix.size()),
                              text.substr(equals + 1));
    }
    preparation.change();  // throws
    return settings;
}

std::vector<std::string> ModelOptions::kept() const {
    std::vector<std::string> patterns;
    for (const std::string& text : set)
        if (keeps && text.starts_with(kKeep))
            std::ranges::move(engine::patterns_of(text.substr(kKeep.size())),
                              std::back_inserter(patterns));
    return patterns;
}

ModelWords ModelOptions::words(const std::string& weights, const std::string& classes) const {
    return {.weights = weights,
            .model = model,
            .settings = settings(),
            .allow_unused = allow_unused,
            .image_size = preparation.image_size,
            .classes = classes,
            .preparation = preparation.change(),
            .report_preparation = preparation.offered,
            .load = {.prefer_ema = prefer_ema,
                     .allow_non_finite = allow_non_finite,
                     .seed = 0,
                     .allow_fresh_head = allow_fresh_head}};
}

void check_output(const std::filesystem::path& file) {
    // The reader of a pipe takes its closing for the end: such a place is not tried.
    if (!output_place(file).direct) AtomicFile trial(file);
}

void make_folder(const std::string& name) {
    std::error_code error;
    std::filesystem::create_directories(name, error);
    if (error) throw Error(fmt::format("{}: cannot make the folder: {}", name, error.message()));
}

void enter_sandbox_for(const std::vector<std::string>& outputs) {
    std::vector<std::filesystem::path> writable;
    for (const std::string& output : outputs)
        if (!output.empty()) writable.emplace_back(output);
    enter_sandbox(writable);
}

namespace {

std::string scaled(double value, std::string_view unit) {
    constexpr std::array<std::string_view, 5> kPrefixes = {"", "k", "M", "G", "T"};
    std::size_t step = 0;
    while (value >= 1000 && step + 1 < kPrefixes.size()) {
        value /= 1000;
        ++step;
    }
    if (step == 0 && unit.empty()) return fmt::format("{:.0f}", value);
    return step == 0 ? fmt::format("{:.0f} {}", value, unit)
                     : fmt::format("{:.1f} {}{}", value, kPrefixes[step], unit);
}

}  // namespace

std::string count_text(std::int64_t count) { return scaled(double(count), ""); }
std::string bytes_text(std::int64_t bytes) { return scaled(double(bytes), "B"); }

}  // namespace cait::app
