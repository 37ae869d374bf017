// How --help arranges the options of a command: its own first, then those that it shares with other
// commands, and last those that every command has.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace cait::app {

// Headings of shared options, in the order of --help.
inline constexpr const char* kImageOptions = "Images";
inline constexpr const char* kPreparationOptions = "Preparation of images";
inline constexpr const char* kModelOptions = "Model";
inline constexpr const char* kExecutionOptions = "Execution";
inline constexpr const char* kGeneralOptions = "General";

// Options that are added to the command while it exists get this heading.
class OptionGroup {
public:
    OptionGroup(CLI::App& command, const std::string& heading);
    ~OptionGroup();
    OptionGroup(const OptionGroup&) = delete;
    OptionGroup& operator=(const OptionGroup&) = delete;

private:
    CLI::App& command_;
    std::string previous_;
};

// --json, among the options of every command.
CLI::Option* add_json_flag(CLI::App& command, bool& json, const std::string& help = "Print JSON");

// The headings of a command's options, in the order of --help.
std::vector<std::string> option_headings(const CLI::App& command);

// Writes --help: commands before options, option groups in the order above.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace cait::app
