// Zsh: as for bash, with the explanations of --help beside the words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.h"

namespace cait::app {

namespace {

std::string zsh_quoted(std::string_view text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

// 'word:explanation', where a colon of the word would end it.
std::string described(const std::string& word, const std::string& help) {
    return zsh_quoted(fmt::format("{}:{}", word, help));
}

std::string zsh_value_cases(const CommandWords& command) {
    std::string text;
    for (const OptionWords& option : command.options)
        if (!option.positional && !option.value.empty())
            text += fmt::format("    '{} {}') known=({}) value=yes ;;\n", command.path, option.name,
                                fmt::join(option.choices, " "));
    return text;
}

std::string argument_case(const CommandWords& command, std::span<const CommandWords> commands) {
    std::string options, subcommands;
    std::vector<std::string> known;
    for (const OptionWords& option : command.options)
        if (option.positional)
            known.insert(known.end(), option.choices.begin(), option.choices.end());
        else
            options += "      " + described(option.name, option.help) + "\n";
    for (const CommandWords& one : commands) {
        const std::string parent =
            one.path.find(' ') == std::string::npos ? "" : one.path.substr(0, one.path.find(' '));
        if (!one.path.empty() && parent == command.path)
            subcommands += "      " + described(last_word(one.path), one.summary) + "\n";
    }
    return fmt::format(
        "    '{}')\n      options=(\n{}      )\n      commands=(\n{}      )\n      known=({}) ;;\n",
        command.path, options, subcommands, fmt::join(known, " "));
}

}  // namespace

std::string zsh_completion(std::span<const CommandWords> commands) {
    std::string paths, values, arguments;
    for (const CommandWords& command : commands) {
        if (!command.path.empty())
            paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", command.path);
        values += zsh_value_cases(command);
        arguments += argument_case(command, commands);
    }
    return fmt::format(R"(#compdef cait
# zsh completion for cait; made by `cait completion zsh`

_cait() {{
  local command='' value='' word
  local -a options commands known
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "${{command:+$command }}$word" in
    {}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command ${{words[CURRENT-1]}}" in
{}  esac
  if [[ -z $value ]]; then
    case "$command" in
{}    esac
    if [[ $PREFIX == -* ]]; then
      _describe -o 'option' options
      return
    fi
    if (( $#commands )); then
      _describe 'command' commands
      return
    fi
  fi
  (( $#known )) && compadd -a known
  _files
}}
if [[ $funcstack[1] == _cait ]]; then _cait "$@"; else compdef _cait cait; fi
)",
                       paths, values, arguments);
}

}  // namespace cait::app
