// Fish: a line per word, each with the condition under which it is offered.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.h"

namespace cait::app {

namespace {

std::string fish_quoted(std::string_view text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') result += '\\';
        result += c;
    }
    return result + "'";
}

std::string condition(const CommandWords& command) {
    return fmt::format("complete -c cait -n \"__cait_is '{}'\"", command.path);
}

std::string line(const CommandWords& command, const OptionWords& option) {
    const std::string words = fmt::format("{}", fmt::join(option.choices, " "));
    if (option.positional)
        return words.empty() ? ""
                             : fmt::format("{} -a {}\n", condition(command), fish_quoted(words));
    std::string values;
    if (!option.value.empty())
        values = words.empty() ? " -r -F" : fmt::format(" -x -a {}", fish_quoted(words));
    return fmt::format("{} -l {}{} -d {}\n", condition(command), option.name.substr(2), values,
                       fish_quoted(option.help));
}

}  // namespace

std::string fish_completion(std::span<const CommandWords> commands) {
    std::string paths, lines;
    for (const CommandWords& command : commands) {
        if (!command.path.empty()) paths += fmt::format(" '{}'", command.path);
        if (!command.commands.empty()) lines += condition(command) + " -f\n";
        for (const OptionWords& option : command.options) lines += line(command, option);
        for (const CommandWords& one : commands) {
            const std::string full = command.path.empty()
                                         ? last_word(one.path)
                                         : command.path + " " + last_word(one.path);
            if (!one.path.empty() && one.path == full)
                lines += fmt::format("{} -a {} -d {}\n", condition(command), last_word(one.path),
                                     fish_quoted(one.summary));
        }
    }
    return fmt::format(R"(# fish completion for cait; made by `cait completion fish`

function __cait_is --argument-names wanted
    set -l command ''
    for word in (commandline -opc)[2..]
        set -l longer (string trim "$command $word")
        if contains -- $longer{}
            set command $longer
        end
    end
    test "$command" = "$wanted"
end

{})",
                       paths, lines);
}

}  // namespace cait::app
