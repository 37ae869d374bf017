#include "report/theme.h"

#include <fmt/format.h>

namespace cait {

std::string css_colour(const Colour& colour) {
    return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

std::string theme_variables(const Theme& theme) {
    std::string css =
        fmt::format("--page: {}; --card: {}; --ink: {}; --dim: {}; --rule: {};",
                    css_colour(theme.page), css_colour(theme.card), css_colour(theme.ink),
                    css_colour(theme.dim), css_colour(theme.rule));
    for (std::size_t i = 0; i < theme.series.size(); ++i)
        css += fmt::format(" --s{}: {};", i + 1, css_colour(theme.series[i]));
    return css;
}

}  // namespace cait
