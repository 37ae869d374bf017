// The manual page, in the macros of man(7).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <utility>

#include "completion.h"

namespace cait::app {

namespace {

// Text as roff takes it literally: a minus stays one, and no line begins as a request.
std::string roff(std::string_view text) {
    std::string result;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) result += "\\&";
        line_start = c == '\n';
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else
            result += c;
    }
    return result;
}

std::string upper(std::string text) {
    for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string option_text(const OptionWords& option) {
    std::string text = option.positional ? fmt::format(".TP\n.I {}\n", roff(option.name))
                                         : fmt::format(".TP\n.BR {}", roff(option.name));
    if (!option.positional)
        text += option.value.empty() ? "\n" : fmt::format(" \" \" {}\n", roff(option.value));
    text += roff(option.help);
    constexpr std::size_t kFew = 8;  // not the list of all models
    if (!option.choices.empty() && option.choices.size() <= kFew)
        text += roff(fmt::format(" ({})", fmt::join(option.choices, ", ")));
    if (!option.initial.empty()) text += roff(fmt::format("; default: {}", option.initial));
    return text + "\n";
}

std::string literal(std::string text) {
    text.erase(0, text.find_first_not_of('\n'));
    while (text.ends_with('\n')) text.pop_back();
    return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

std::string command_text(const CommandWords& command) {
    std::string text = fmt::format(".SS cait {}\n{}.\n", roff(command.path), roff(command.summary));
    for (const OptionWords& option : command.options)
        if (option.name != "--help") text += option_text(option);
    return text + literal(command.footer);
}

}  // namespace

std::string manual_page(std::span<const CommandWords> commands, const std::string& version) {
    const CommandWords& program = commands.front();
    std::string text =
        fmt::format(".TH CAIT 1 " CAIT_DATE
                    " \"{}\" \"User Commands\"\n"
                    ".SH NAME\ncait \\- train, evaluate and look inside image transformers\n"
                    ".SH SYNOPSIS\n.B cait\n.I COMMAND\n.RI [ OPTION ]...\n"
                    ".SH DESCRIPTION\n{}\n"
                    ".PP\nEvery command explains itself with\n.BR \\-\\-help .\n",
                    roff(version), roff(program.summary));
    text += ".SH OPTIONS\n";
    for (const OptionWords& option : program.options) text += option_text(option);
    std::string group;
    for (const CommandWords& command : commands.subspan(1)) {
        const bool top = command.path.find(' ') == std::string::npos;
        if (top && std::exchange(group, command.group) != command.group)
            text += fmt::format(".SH {}\n", roff(upper(group)));
        text += command_text(command);
    }
    text +=
        ".SH ENVIRONMENT\n"
        ".TP\n.B CAIT_CACHE\nFolder for published weights; default: $XDG_CACHE_HOME/cait or "
        "~/.cache/cait\n"
        ".TP\n.B CAIT_MIRROR\nAddress or folder to fetch published weights from, instead of their "
        "publishers\n"
        ".TP\n.B CAIT_ISA\nThe most that is used of the processor: portable, avx2, avx_vnni, "
        "avx512, "
        "avx512_vnni, avx512_bf16 or amx\n"
        ".SH EXIT STATUS\n"
        "0: done; 1: something is wrong with the data; 2: something is wrong with the request.\n";
    return text;
}

}  // namespace cait::app
