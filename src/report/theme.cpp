#include "report/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace cait {

namespace {

std::vector<std::pair<std::string, Colour>> named_colours(const Theme& theme) {
    std::vector<std::pair<std::string, Colour>> named{
        {"page", theme.page}, {"card", theme.card}, {"ink", theme.ink},
        {"dim", theme.dim},   {"rule", theme.rule}, {"on", theme.on}};
    for (std::size_t i = 0; i < theme.series.size(); ++i)
        named.emplace_back(fmt::format("s{}", i + 1), theme.series[i]);
    for (std::size_t i = 0; i < kCloudColours; ++i)
        named.emplace_back(fmt::format("c{}", i), theme.cloud(i));
    return named;
}

std::string variables(const Theme& theme) {
    std::string css;
    for (const auto& [name, colour] : named_colours(theme))
        css += fmt::format(" --{}: {};", name, css_colour(colour));
    return css;
}

std::string rules_in(const Theme& theme) {
    std::string css = chart_rules();
    for (const auto& [name, colour] : named_colours(theme)) {
        const std::string variable = fmt::format("var(--{})", name);
        for (std::size_t at = 0; (at = css.find(variable, at)) != std::string::npos;)
            css.replace(at, variable.size(), css_colour(colour));
    }
    return css;
}

constexpr const char* kRules = R"css(svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
svg .strong { fill: var(--ink); }
svg .title { font-weight: 600; font-size: 14px; fill: var(--ink); }
.card { fill: var(--card); }
.grid { stroke: var(--rule); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.dash { stroke-dasharray: 6 4; }
.line.whisker { stroke-width: 1; opacity: .6; }
rect.s1, .cell { fill: var(--s1); }
rect.muted { fill: var(--s5); }
.band { fill: var(--s1); opacity: .16; } .band.in { opacity: .3; }
.dot { stroke: var(--card); stroke-width: 1.5; }
.diagonal { stroke: var(--ink); stroke-dasharray: 4 4; stroke-width: 1.5; fill: none; }
svg .on, svg .off { text-anchor: middle; font-size: 10px; fill: var(--ink); }
svg .on { fill: var(--on); }
.cloud { fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: .8; }
.cloud.square { stroke-linecap: square; stroke-width: 3.4; }
)css";

}  // namespace

Colour Theme::colour_of(std::string_view style, const Colour& other) const {
    while (!style.empty()) {
        const std::string_view word = style.substr(0, style.find(' '));
        style.remove_prefix(std::min(style.size(), word.size() + 1));
        if (word.size() != 2) continue;
        if (word[0] == 's' && word[1] >= '1' && word[1] <= '5')
            return series[std::size_t(word[1] - '1')];
        if (word[0] == 'c' && word[1] >= '0' && word[1] <= '9')
            return cloud(std::size_t(word[1] - '0'));
    }
    return other;
}

std::string css_colour(const Colour& colour) {
    return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

std::string palette_variables() {
    return fmt::format(
        ":root {{ color-scheme: light dark;{} }}\n"
        "@media (prefers-color-scheme: dark) {{ :root {{{} }} }}\n",
        variables(kLightTheme), variables(kDarkTheme));
}

std::string chart_rules() {
    std::string css = kRules;
    for (std::size_t i = 1; i <= kLineColours + 1; ++i)
        css += fmt::format(
            ".line.s{0} {{ stroke: var(--s{0}); }} .dot.s{0}, .key.s{0} {{ fill: var(--s{0}); }}\n",
            i);
    for (std::size_t i = 0; i < kCloudColours; ++i)
        css += fmt::format(
            ".cloud.c{0} {{ stroke: var(--c{0}); }} .key.c{0} {{ fill: var(--c{0}); }}\n", i);
    return css;
}

std::string drawing_rules() {
    return fmt::format(
        ":root {{ color-scheme: light dark; }}\n{}@media (prefers-color-scheme: dark) {{\n{}}}\n",
        rules_in(kLightTheme), rules_in(kDarkTheme));
}

}  // namespace cait
