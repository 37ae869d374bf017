#include "report/chart_style.h"

#include <fmt/format.h>

#include <string_view>

namespace cait {

namespace {

struct Colour {
    std::string_view name, light, dark;
};

constexpr Colour kPalette[] = {
    {"page", "#f7f7f5", "#141618"}, {"card", "#ffffff", "#1c1f22"}, {"ink", "#1d1f21", "#e6e7e8"},
    {"dim", "#62676d", "#9aa0a6"},  {"rule", "#e3e3df", "#2e3236"}, {"s1", "#2f6fc4", "#5a97e6"},
    {"s2", "#d9692b", "#e58a52"},   {"s3", "#2a8f72", "#46b394"},   {"s4", "#8658b5", "#ac85d8"},
    {"s5", "#9a9fa5", "#7a8087"},   {"on", "#ffffff", "#ffffff"},   {"c0", "#2f6fc4", "#5a97e6"},
    {"c1", "#d9692b", "#e58a52"},   {"c2", "#2a8f72", "#46b394"},   {"c3", "#8658b5", "#ac85d8"},
    {"c4", "#c23b4b", "#ea7480"},   {"c5", "#1b8ba6", "#45b5cf"},   {"c6", "#a37a00", "#d1a734"},
    {"c7", "#c2528f", "#e283b6"},   {"c8", "#6b8a1e", "#9dbb4f"},   {"c9", "#80583d", "#b98a6a"},
};

std::string variables(std::string_view Colour::*scheme) {
    std::string text;
    for (const Colour& colour : kPalette)
        text += fmt::format(" --{}: {};", colour.name, colour.*scheme);
    return text;
}

// What a drawing has beside the rules of a page.
constexpr std::string_view kOwnRules = R"css(.card { fill: var(--card); }
svg .title { font: 600 13px system-ui, sans-serif; fill: var(--ink); }
.fill.s1 { fill: var(--s1); } .fill.s2 { fill: var(--s2); } .fill.s3 { fill: var(--s3); }
.fill.s4 { fill: var(--s4); } .fill.s5 { fill: var(--s5); }
)css";

// Rules with colours in place of variables.
std::string rules_in(std::string_view Colour::*scheme) {
    std::string text = chart_rules() + std::string(kOwnRules);
    for (std::size_t i = 0; i < kCloudColours; ++i)
        text += fmt::format(".fill.c{0} {{ stroke: none; fill: var(--c{0}); }}\n", i);
    for (const Colour& colour : kPalette) {
        const std::string variable = fmt::format("var(--{})", colour.name);
        for (std::size_t at = 0; (at = text.find(variable, at)) != std::string::npos;)
            text.replace(at, variable.size(), colour.*scheme);
    }
    return text;
}

}  // namespace

std::string palette_variables() {
    return fmt::format(
        ":root {{ color-scheme: light dark;{} }}\n"
        "@media (prefers-color-scheme: dark) {{ :root {{{} }} }}\n",
        variables(&Colour::light), variables(&Colour::dark));
}

std::string chart_rules() {
    std::string rules = R"css(svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
.grid { stroke: var(--rule); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); }
.line.s3 { stroke: var(--s3); } .line.s4 { stroke: var(--s4); }
rect.s1, .dot.s1, .cell { fill: var(--s1); } .dot.s2 { fill: var(--s2); }
.dot.s3 { fill: var(--s3); } .dot.s4 { fill: var(--s4); }
.band { fill: var(--s1); opacity: .16; } .band.in { opacity: .3; }
.dot { stroke: var(--card); stroke-width: 1.5; }
rect.muted { fill: var(--s5); }
.diagonal { stroke: var(--ink); stroke-dasharray: 4 4; stroke-width: 1.5; fill: none; }
svg .on, svg .off { text-anchor: middle; font-size: 10px; fill: var(--ink); }
svg .on { fill: var(--on); }
.line.dashed { stroke-dasharray: 6 4; } .whisker { stroke-width: 1; opacity: .6; }
.cloud { fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: .8; }
.cloud.square { stroke-linecap: square; stroke-width: 3.4; }
)css";
    for (std::size_t i = 0; i < kCloudColours; ++i)
        rules += fmt::format(
            ".c{0} {{ stroke: var(--c{0}); }} i.c{0} {{ background: var(--c{0}); }}\n", i);
    return rules;
}

std::string drawing_style() {
    return fmt::format("<style>\n{}@media (prefers-color-scheme: dark) {{\n{}}}\n</style>\n",
                       rules_in(&Colour::light), rules_in(&Colour::dark));
}

}  // namespace cait
