#include "serve/http/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/display_name.h"
#include "base/utf8.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

template <class Take>
void for_pieces(std::string_view text, char between, const Take& take) {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(between, begin), text.size());
        take(text.substr(begin, end - begin));
        begin = end + 1;
    }
}

}  // namespace

std::string percent_decoded(std::string_view text, bool plus_is_space) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '+' && plus_is_space) c = ' ';
        if (c == '%') {
            const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1;
            const int low = high < 0 ? -1 : digit(text[i + 2]);
            if (low < 0) throw HttpError(400, "target: expected two digits after '%'");
            c = char(high * 16 + low);
            i += 2;
        }
        result += c;
    }
    const bool control =
        std::ranges::any_of(result, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (control || !is_utf8(result)) throw HttpError(400, "target: expected printable UTF-8");
    return result;
}

std::vector<std::string> path_words(std::string_view path) {
    std::vector<std::string> words;
    if (path.starts_with('/')) path.remove_prefix(1);
    if (path.empty()) return words;
    for_pieces(path, '/', [&](std::string_view word) { words.push_back(percent_decoded(word)); });
    return words;
}

Parameters::Parameters(std::string_view target) {
    const std::size_t mark = target.find('?');
    if (mark == std::string_view::npos || mark + 1 == target.size()) return;
    for_pieces(target.substr(mark + 1), '&', [&](std::string_view pair) {
        if (pair.empty()) return;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        std::string name = percent_decoded(pair.substr(0, equals), true);
        if (find(name) != nullptr)
            throw HttpError(400, fmt::format("{}: given twice", display_name(name)));
        values_.emplace_back(std::move(name), equals < pair.size()
                                                  ? percent_decoded(pair.substr(equals + 1), true)
                                                  : "");
    });
}

const std::string* Parameters::find(std::string_view name) const {
    for (const auto& [key, value] : values_)
        if (key == name) return &value;
    return nullptr;
}

std::size_t Parameters::number(std::string_view name, std::size_t otherwise, std::size_t least,
                               std::size_t most) const {
    const std::string* text = find(name);
    if (text == nullptr) return otherwise;
    std::size_t value = 0;
    const char* end = text->data() + text->size();
    const auto [last, problem] = std::from_chars(text->data(), end, value);
    if (problem != std::errc() || last != end || text->empty() || value < least || value > most)
        throw HttpError(400, fmt::format("{}: expected {} to {}, found {}", name, least, most,
                                         display_name(*text)));
    return value;
}

double Parameters::decimal(std::string_view name, double otherwise, double least,
                           double most) const {
    const std::string* text = find(name);
    if (text == nullptr) return otherwise;
    double value = 0;
    const char* end = text->data() + text->size();
    const auto [last, problem] = std::from_chars(text->data(), end, value);
    if (problem != std::errc() || last != end || !(value >= least && value <= most))
        throw HttpError(400, fmt::format("{}: expected {:g} to {:g}, found {}", name, least, most,
                                         display_name(*text)));
    return value;
}

bool Parameters::flag(std::string_view name) const {
    const std::string* text = find(name);
    if (text == nullptr || *text == "0" || *text == "false") return false;
    if (*text == "1" || *text == "true") return true;
    throw HttpError(400, fmt::format("{}: expected 0 or 1, found {}", name, display_name(*text)));
}

void Parameters::allow(const std::vector<std::string_view>& names) const {
    for (const auto& [name, value] : values_)
        if (std::ranges::find(names, name) == names.end())
            throw HttpError(400,
                            fmt::format("query: expected {}, found {}",
                                        names.empty() ? std::string("no parameters")
                                                      : fmt::format("{}", fmt::join(names, ", ")),
                                        display_name(name)));
}

}  // namespace cait::serve
