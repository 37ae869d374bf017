#include "base/rename.h"

#include <optional>
#include <vector>

namespace cait {

namespace {

// Removes the first component and the dot after it.
std::string_view next_component(std::string_view& rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view component = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
    return component;
}

// What the stars of the pattern stand for in `name`, or nothing when it does not fit.
std::optional<std::vector<std::string_view>> match(std::string_view name,
                                                   std::string_view pattern) {
    std::vector<std::string_view> stars;
    while (!pattern.empty()) {
        if (name.empty()) return std::nullopt;
        const std::string_view wanted = next_component(pattern);
        if (wanted == "**") {
            stars.push_back(name);
            return stars;
        }
        const std::string_view component = next_component(name);
        if (wanted == "*")
            stars.push_back(component);
        else if (wanted != component)
            return std::nullopt;
    }
    if (!name.empty()) return std::nullopt;
    return stars;
}

std::string fill(std::string_view pattern, std::span<const std::string_view> stars) {
    std::string name;
    std::size_t used = 0;
    while (!pattern.empty()) {
        const std::string_view component = next_component(pattern);
        const bool star = component == "*" || component == "**";
        if (!name.empty()) name += '.';
        name += star && used < stars.size() ? stars[used++] : component;
    }
    return name;
}

}  // namespace

std::string to_official(std::string_view name, std::span<const Rename> rules) {
    for (const Rename& rule : rules)
        if (const auto stars = match(name, rule.alias)) return fill(rule.official, *stars);
    return std::string(name);
}

std::string to_alias(std::string_view name, std::span<const Rename> rules) {
    for (const Rename& rule : rules)
        if (const auto stars = match(name, rule.official)) return fill(rule.alias, *stars);
    return std::string(name);
}

std::size_t alias_axes(std::string_view name, std::span<const Rename> rules) {
    for (const Rename& rule : rules)
        if (match(name, rule.official)) return rule.axes;
    return 0;
}

}  // namespace cait
