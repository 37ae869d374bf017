#include "data/formats/yaml_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/class_list.h"

namespace cait {

namespace {

constexpr std::size_t kMostNames = 100'000;
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

class YamlNames {
public:
    explicit YamlNames(std::string file) : file_(std::move(file)) {}

    // One element: a name, or its number and the name.
    void add(std::string_view text, std::size_t line) {
        std::string_view rest = trimmed(text);
        const std::size_t colon = rest.find(':');
        if (colon != std::string_view::npos && !is_quote(rest.front())) {
            const auto number = plain_number(trimmed(rest.substr(0, colon)));
            if (!number || std::size_t(*number) != names_.size())
                fail(line, fmt::format("class {}", names_.size()), text);
            rest = trimmed(rest.substr(colon + 1));
        }
        names_.push_back(unquoted(rest, line));
        if (names_.back().empty()) fail(line, "a class name", text);
        if (names_.size() > kMostNames)
            fail(line, fmt::format("at most {} names", kMostNames), text);
    }

    // [a, b] or {0: a, 1: b} from its bracket on, on any number of lines.
    void add_flow(std::string_view text, std::size_t line) {
        const char end = text.front() == '[' ? ']' : '}';
        std::string element;
        char quote = 0;
        for (const char c : text.substr(1)) {
            if (quote == 0 && c == end) {
                if (!trimmed(element).empty()) add(element, line);
                return;
            }
            if (quote == 0 && c == ',') {
                add(element, line);
                element.clear();
                continue;
            }
            if (quote == 0 && is_quote(c))
                quote = c;
            else if (c == quote)
                quote = 0;
            element += c == '\n' ? ' ' : c;
        }
        fail(line, fmt::format("'{}' at the end of the names", end), element);
    }

    [[noreturn]] void fail(std::size_t line, const std::string& expected,
                           std::string_view found) const {
        throw Error(fmt::format("{}:{}: expected {}, found {}", file_, line, expected,
                                display_name(trimmed(found))));
    }

    std::vector<std::string> take() { return std::move(names_); }

private:
    static bool is_quote(char c) { return c == '\'' || c == '"'; }

    std::string unquoted(std::string_view text, std::size_t line) const {
        if (text.empty() || !is_quote(text.front())) {
            const std::size_t comment = text.find(" #");
            return std::string(trimmed(text.substr(0, comment)));
        }
        const std::size_t end = text.find(text.front(), 1);
        const std::string_view after =
            end == std::string_view::npos ? std::string_view() : trimmed(text.substr(end + 1));
        if (end == std::string_view::npos || (!after.empty() && after.front() != '#'))
            fail(line, "a quoted name", text);
        return std::string(text.substr(1, end - 1));
    }

    std::string file_;
    std::vector<std::string> names_;
};

}  // namespace

std::optional<std::vector<std::string>> read_yaml_names(std::string_view text,
                                                        const std::string& file) {
    constexpr std::string_view kKey = "names:";
    YamlNames names(file);
    bool inside = false;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        ++number;
        if (!inside && line.starts_with(kKey)) {
            const std::string_view value = trimmed(line.substr(kKey.size()));
            if (value.starts_with('[') || value.starts_with('{')) {
                names.add_flow(text.substr(std::size_t(value.data() - text.data())), number);
                return names.take();
            }
            if (!value.empty() && value.front() != '#')
                names.fail(number, "a list of names", value);
            inside = true;
        } else if (inside) {
            const std::string_view item = trimmed(line);
            const bool is_item =
                item == "-" || item.starts_with("- ") || line.find_first_of(" \t") == 0;
            if (!item.empty() && item.front() != '#') {
                if (!is_item) break;  // the next key
                names.add(item.starts_with('-') ? item.substr(1) : item, number);
            }
        }
        begin = end + 1;
    }
    if (!inside) return std::nullopt;
    return names.take();
}

}  // namespace cait
