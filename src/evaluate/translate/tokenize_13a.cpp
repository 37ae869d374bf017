#include "evaluate/translate/tokenize_13a.h"

#include "evaluate/translate/words.h"

namespace cait {

namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    for (;;) {
        const std::size_t at = text.find(from);
        result += text.substr(0, at);
        if (at == std::string_view::npos) return result;
        result += to;
        text.remove_prefix(at + from.size());
    }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// What stands alone wherever it stands: [{-~ [-` space-& (-+ :-@ /]
bool stands_alone(char c) {
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

// A regular expression of two characters, replaced from left to right: what it has matched is not
// looked at again. All that it asks is about ASCII, so bytes do.
template <class Matches, class Write>
std::string replaced_pairs(std::string_view text, const Matches& matches, const Write& write) {
    std::string result;
    std::size_t at = 0;
    while (at + 1 < text.size()) {
        if (matches(text[at], text[at + 1])) {
            write(result, text[at], text[at + 1]);
            at += 2;
        } else {
            result += text[at++];
        }
    }
    result += text.substr(at);
    return result;
}

std::string spaced(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (stands_alone(c))
            result.append({' ', c, ' '});
        else
            result += c;
    }
    return result;
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
    std::string text = replaced(line, "<skipped>", "");
    text = replaced(replaced(text, "-\n", ""), "\n", " ");
    text = replaced(replaced(text, "&quot;", "\""), "&amp;", "&");
    text = replaced(replaced(text, "&lt;", "<"), "&gt;", ">");
    text = spaced(" " + text + " ");
    text = replaced_pairs(
        text, [](char a, char b) { return !is_digit(a) && is_stop(b); },
        [](std::string& to, char a, char b) {
            to.append({a, ' ', b, ' '});
        });
    text = replaced_pairs(
        text, [](char a, char b) { return is_stop(a) && !is_digit(b); },
        [](std::string& to, char a, char b) {
            to.append({' ', a, ' ', b});
        });
    text = replaced_pairs(
        text, [](char a, char b) { return is_digit(a) && b == '-'; },
        [](std::string& to, char a, char b) {
            to.append({a, ' ', b, ' '});
        });
    std::string tokens;
    for (const std::string_view word : split_at_space(text))
        (tokens += tokens.empty() ? "" : " ") += word;
    return tokens;
}

std::string split_compounds(std::string_view tokens) {
    const auto is_word = [](char c) {
        return c != ' ' && c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r';
    };
    std::string result;
    std::size_t at = 0;
    while (at + 2 < tokens.size()) {
        if (is_word(tokens[at]) && tokens[at + 1] == '-' && is_word(tokens[at + 2])) {
            result += tokens[at];
            result += " ##AT##-##AT## ";
            result += tokens[at + 2];
            at += 3;
        } else {
            result += tokens[at++];
        }
    }
    result += tokens.substr(at);
    return result;
}

}  // namespace cait
