// Bash: one function that first finds the command among the words so far, then offers its
// sub-commands, options or the values of the option before the cursor; otherwise files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.h"

namespace cait::app {

namespace {

std::string command_paths(std::span<const CommandWords> commands) {
    std::vector<std::string> paths;
    for (const CommandWords& command : commands)
        if (!command.path.empty()) paths.push_back(fmt::format("'{}'", command.path));
    return fmt::format("{}", fmt::join(paths, " | "));
}

// The values of options: those that are known, none (so: files) for the others.
std::string bash_value_cases(const CommandWords& command) {
    std::string text;
    for (const OptionWords& option : command.options)
        if (!option.positional && !option.value.empty())
            text += fmt::format("        '{} {}') words='{}' value=yes ;;\n", command.path,
                                option.name, fmt::join(option.choices, " "));
    return text;
}

std::string argument_case(const CommandWords& command) {
    std::vector<std::string> flags, arguments = command.commands;
    for (const OptionWords& option : command.options)
        if (option.positional)
            arguments.insert(arguments.end(), option.choices.begin(), option.choices.end());
        else
            flags.push_back(option.name);
    return fmt::format("        '{}') options='{}' arguments='{}' ;;\n", command.path,
                       fmt::join(flags, " "), fmt::join(arguments, " "));
}

}  // namespace

std::string bash_completion(std::span<const CommandWords> commands) {
    std::string values, arguments;
    for (const CommandWords& command : commands) {
        values += bash_value_cases(command);
        arguments += argument_case(command);
    }
    return fmt::format(R"(# bash completion for cait; made by `cait completion bash`

_cait() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local command='' value='' words='' options='' arguments='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{command:+$command }}${{COMP_WORDS[i]}}" in
        {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$command $previous" in
{}    esac
    if [[ -z $value ]]; then
        case "$command" in
{}        esac
        if [[ $current == -* ]]; then words=$options; else words=$arguments; fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _cait cait
)",
                       command_paths(commands), values, arguments);
}

}  // namespace cait::app
