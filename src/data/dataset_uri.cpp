#include "data/dataset_uri.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include "base/display_name.h"
#include "base/suggest.h"
#include "cait/error.h"

namespace cait {

namespace {

bool is_scheme(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    });
}

}  // namespace

std::string_view name_of(Split split) {
    switch (split) {
        case Split::train: return "train";
        case Split::val: return "val";
        case Split::test: return "test";
        case Split::trainval: return "trainval";
        case Split::any: break;
    }
    return "any";
}

std::optional<std::string> DatasetUri::option(std::string_view name) const {
    for (const auto& [key, value] : options)
        if (key == name) return value;
    return std::nullopt;
}

bool DatasetUri::flag(std::string_view name) const {
    const std::string value = option(name).value_or("false");
    if (value != "true" && value != "false")
        throw UsageError(fmt::format("{}: {}: expected true or false, found {}", text, name,
                                     display_name(value)));
    return value == "true";
}

Split DatasetUri::split(Split hint) const {
    const auto name = option("split");
    if (!name) return hint;
    for (const Split split : {Split::train, Split::val, Split::test, Split::trainval})
        if (*name == name_of(split)) return split;
    if (*name == "validation") return Split::val;
    throw UsageError(
        fmt::format("{}: split: expected train, val or test, found {}", text, display_name(*name)));
}

void DatasetUri::check_options(std::span<const std::string> known) const {
    for (const auto& [key, value] : options) {
        if (std::ranges::find(known, key) != known.end()) continue;
        const auto nearest = nearest_names(key, known, 1);
        if (nearest.empty())
            throw UsageError(fmt::format("{}: unknown option {}; {} takes none", text,
                                         display_name(key), scheme));
        throw UsageError(fmt::format("{}: unknown option {}; did you mean '{}'? {} takes {}", text,
                                     display_name(key), nearest[0], scheme,
                                     fmt::join(known, ", ")));
    }
}

DatasetUri parse_dataset_uri(std::string_view text) {
    DatasetUri uri;
    uri.text = std::string(text);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon)))
        throw UsageError(fmt::format("data set {}: expected scheme:PATH, for example folder:{}",
                                     display_name(text), text.empty() ? "PATH" : text));
    uri.scheme = std::string(text.substr(0, colon));
    std::string_view rest = text.substr(colon + 1);

    // A folder may have '?' in its name; options are there only when '=' follows it.
    const std::size_t question = rest.find_last_of('?');
    if (question != std::string_view::npos && rest.find('=', question) != std::string_view::npos) {
        std::string_view options = rest.substr(question + 1);
        rest = rest.substr(0, question);
        while (!options.empty()) {
            const std::size_t end = std::min(options.find('&'), options.size());
            const std::string_view item = options.substr(0, end);
            const std::size_t equals = item.find('=');
            if (equals == 0 || equals == std::string_view::npos)
                throw UsageError(fmt::format("{}: expected option=value, found {}", uri.text,
                                             display_name(item)));
            std::string key(item.substr(0, equals));
            if (uri.option(key))
                throw UsageError(
                    fmt::format("{}: option {} is given twice", uri.text, display_name(key)));
            uri.options.emplace_back(std::move(key), item.substr(equals + 1));
            options.remove_prefix(std::min(end + 1, options.size()));
        }
    }
    uri.path = std::string(rest);
    return uri;
}

namespace {

constexpr std::size_t kMostShardNames = 100'000;
constexpr std::size_t kLongestPattern = 1024;

std::optional<std::uint64_t> digits(std::string_view text) {
    constexpr std::size_t kMostDigits = 12;
    if (text.empty() || text.size() > kMostDigits) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + std::uint64_t(c - '0');
    }
    return value;
}

std::vector<std::string> alternatives(std::string_view inside, std::string_view pattern) {
    const auto fail = [&](const std::string& what) {
        throw UsageError(fmt::format("{}: {}", display_name(pattern), what));
    };
    std::vector<std::string> names;
    if (const std::size_t dots = inside.find(".."); dots != std::string_view::npos) {
        const std::string_view first_text = inside.substr(0, dots);
        const auto first = digits(first_text);
        const auto last = digits(inside.substr(dots + 2));
        if (!first || !last || *last < *first)
            fail(fmt::format("expected {{FIRST..LAST}} in ascending order, found {{{}}}", inside));
        if (*last - *first >= kMostShardNames)
            fail(fmt::format("more than {} names", kMostShardNames));
        for (std::uint64_t i = *first; i <= *last; ++i)
            names.push_back(fmt::format("{:0{}}", i, first_text.size()));
        return names;
    }
    while (true) {
        const std::size_t comma = inside.find(',');
        names.emplace_back(inside.substr(0, comma));
        if (comma == std::string_view::npos) return names;
        inside.remove_prefix(comma + 1);
    }
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
    if (pattern.size() > kLongestPattern)
        throw UsageError(fmt::format("{}: expected at most {} bytes", display_name(pattern, 40),
                                     kLongestPattern));
    std::vector<std::string> names{""};
    for (std::string_view rest = pattern; !rest.empty();) {
        const std::size_t open = std::min(rest.find('{'), rest.size());
        for (std::string& name : names) name += rest.substr(0, open);
        if (open == rest.size()) break;
        const std::size_t close = rest.find('}', open);
        if (close == std::string_view::npos)
            throw UsageError(fmt::format("{}: '{{' without '}}'", display_name(pattern)));
        const auto choices = alternatives(rest.substr(open + 1, close - open - 1), pattern);
        if (names.size() * choices.size() > kMostShardNames)
            throw UsageError(
                fmt::format("{}: more than {} names", display_name(pattern), kMostShardNames));
        std::vector<std::string> longer;
        for (const std::string& name : names)
            for (const std::string& choice : choices) longer.push_back(name + choice);
        names = std::move(longer);
        rest.remove_prefix(close + 1);
    }
    return names;
}

}  // namespace cait
