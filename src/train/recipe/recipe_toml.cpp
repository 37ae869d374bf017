#include "train/recipe/recipe_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <toml++/toml.h>

#include "base/printable.h"
#include "cait/error.h"
#include "train/recipe/toml_guard.h"

namespace cait {

namespace {

TomlKind kind_of(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string: return TomlKind::string;
        case toml::node_type::integer: return TomlKind::integer;
        case toml::node_type::floating_point: return TomlKind::number;
        case toml::node_type::boolean: return TomlKind::boolean;
        case toml::node_type::array: return TomlKind::array;
        case toml::node_type::table: return TomlKind::table;
        default: return TomlKind::other;
    }
}

// Of what is not a scalar: nothing.
std::string scalar_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    // Without -0, which would come back as another text.
    if (const auto* number = node.as_floating_point())
        return fmt::format("{}", number->get() + 0.0);
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return {};
}

std::string array_text(const toml::array& array) {
    std::string text;
    for (const toml::node& node : array) {
        const std::string one = scalar_text(node);
        if (one.empty() || one.find(',') != std::string::npos) return {};
        text += (text.empty() ? "" : ",") + one;
    }
    return text;
}

TomlEntry entry_of(std::string key, const toml::node& node) {
    const toml::array* array = node.as_array();
    return {std::move(key), kind_of(node), array ? array_text(*array) : scalar_text(node),
            std::int64_t(node.source().begin.line)};
}

// Of a table within `depth` others its entries, else the node itself.
void append(std::vector<TomlEntry>& entries, const std::string& name, const toml::node& node,
            int depth) {
    const toml::table* table = node.as_table();
    if (!table || table->empty() || depth == 0) {
        entries.push_back(entry_of(name, node));
        return;
    }
    for (const auto& [inner, value] : *table)
        append(entries, name + "." + std::string(inner.str()), value, depth - 1);
}

std::vector<TomlEntry> flatten(const toml::table& root) {
    std::vector<TomlEntry> entries;
    for (const auto& [key, node] : root)
        append(entries, std::string(key.str()), node,
               key.str() == "for"      ? 3
               : key.str() == "unused" ? 2
                                       : 1);
    std::ranges::stable_sort(entries, {}, &TomlEntry::line);
    return entries;
}

TomlNode tree_of(const toml::node& node) {
    TomlNode result{kind_of(node), scalar_text(node), std::int64_t(node.source().begin.line)};
    if (const toml::array* array = node.as_array())
        for (const toml::node& item : *array) result.items.push_back(tree_of(item));
    if (const toml::table* table = node.as_table()) {
        // toml++ sorts by name; a reader of the file expects its order.
        std::vector<std::pair<toml::source_position, std::string>> order;
        for (const auto& [key, value] : *table)
            order.emplace_back(key.source().begin, std::string(key.str()));
        std::ranges::stable_sort(order);
        for (const auto& [place, key] : order)
            result.members.emplace_back(key, tree_of(*table->get(key)));
    }
    return result;
}

template <class Use>
auto with_toml(std::string_view text, const std::string& name, const Use& use) {
    guard_toml(text, name);
    try {
        return use(toml::parse(text));
    } catch (const toml::parse_error& error) {
        throw Error(fmt::format("{}:{}: {}", name, error.source().begin.line,
                                printable(error.description(), 400)));
    }
}

// Whether TOML reads the bare text as a number whose text is the same again.
bool is_canonical_number(std::string_view text) {
    const auto parsed = [&](auto value) {
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        return error == std::errc{} && stop == end && std::isfinite(double(value)) &&
               fmt::format("{}", value) == text;
    };
    return parsed(std::int64_t{}) || (text != "-0" && parsed(double{}));
}

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& name) {
    return with_toml(text, name, flatten);
}

TomlNode parse_toml_tree(std::string_view text, const std::string& name) {
    return with_toml(text, name, [](const toml::table& root) { return tree_of(root); });
}

std::string_view toml_kind_name(TomlKind kind) {
    constexpr std::array<std::string_view, 7> kNames{
        "a string", "a whole number", "a number", "true or false", "an array", "a table", "a date"};
    return kNames[std::size_t(kind)];
}

std::string toml_quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += fmt::format("\\{}", c);
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            result += fmt::format("\\u{:04x}", int(c));
        else
            result += c;
    }
    return result + '"';
}

std::string toml_literal(const std::string& text) {
    if (text == "true" || text == "false" || is_canonical_number(text)) return text;
    std::string list;
    for (std::string_view rest = text;;) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (comma == 0 || !is_canonical_number(rest.substr(0, comma))) return toml_quoted(text);
        list += fmt::format("{}{}", list.empty() ? "" : ", ", rest.substr(0, comma));
        if (comma == rest.size()) return fmt::format("[{}]", list);
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace cait
