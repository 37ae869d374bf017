#include "data/sources/shard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/display_name.h"
#include "cait/error.h"

namespace cait {

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
