#include "train/recipe/toml_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kLargest = 1 << 20;  // bytes
// The parser and the trees that it builds are recursive. src/CMakeLists.txt bounds nested values;
// but a dotted key is a table for each dot, whatever that bound.
constexpr std::int64_t kMostDots = 64;

// A header such as "[#" meets an assertion of the parser.
bool opens_without_name(std::string_view line) {
    constexpr std::string_view kBlank = " \t";
    const auto skip = [&](std::string_view what) {
        line.remove_prefix(std::min(line.find_first_not_of(what), line.size()));
    };
    skip(kBlank);
    if (!line.starts_with('[')) return false;
    line.remove_prefix(line.starts_with("[[") ? 2 : 1);
    skip(kBlank);
    const char c = line.empty() ? '\0' : line.front();
    const bool bare = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '_' || c == '-';
    return !bare && c != '"' && c != '\'';
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// The parser asks of some letters whether they are blank, and has no answer for those from U+00A1
// to U+0499. In a comment or a string of one line it does not ask.
class LetterGuard {
public:
    // Whether a line, of the lines in their order, has a letter beyond ASCII where it may not.
    bool refuses(std::string_view line) {
        const bool bare = !opened_ && has_bare_letter(line);
        // Where a string of several lines ends takes a parser to tell.
        return opened_ ? !std::ranges::all_of(line, is_ascii) : bare;
    }

private:
    bool has_bare_letter(std::string_view line) {
        char quote = '\0';   // of the string that we are in
        char before = '\n';  // the last character that is no blank; none yet
        for (std::size_t i = 0; i < line.size(); ++i) {
            const char c = line[i];
            if (quote == '\0') {
                if (c == '#') return false;
                if (!is_ascii(c)) return true;
                if (opens_string(before, c)) quote = c;
                opened_ = opened_ || (quote != '\0' && line.substr(i, 3) == std::string(3, c));
                if (c != ' ' && c != '\t') before = c;
            } else if (c == '\\' && quote == '"') {
                ++i;
            } else if (c == quote) {
                quote = '\0';
            }
        }
        return false;
    }

    // A quote anywhere else is part of a value that makes no sense.
    static bool opens_string(char before, char c) {
        constexpr std::string_view kBeforeStrings = "\n=[,{.";
        return (c == '"' || c == '\'') && kBeforeStrings.find(before) != std::string_view::npos;
    }

    bool opened_ = false;  // a string of several lines began, here or before
};

}  // namespace

void guard_toml(std::string_view text, const std::string& name) {
    if (text.size() > kLargest)
        throw Error(
            fmt::format("{}: expected at most {} bytes, found {}", name, kLargest, text.size()));
    LetterGuard letters;
    for (std::int64_t line = 1; !text.empty(); ++line) {
        const std::string_view one = text.substr(0, text.find('\n'));
        if (std::ranges::count(one, '.') > kMostDots)
            throw Error(
                fmt::format("{}:{}: expected at most {} dots in a line", name, line, kMostDots));
        if (opens_without_name(one))
            throw Error(fmt::format("{}:{}: expected the name of a table after '['", name, line));
        if (letters.refuses(one))
            throw Error(
                fmt::format("{}:{}: expected letters beyond ASCII only in comments and in "
                            "strings of one line",
                            name, line));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
    }
}

}  // namespace cait
