#include "train/recipe/bind_values.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

void bind_text(Settings& settings, std::string name, std::string& field, std::string help) {
    settings.custom({std::move(name), std::move(help), [&field] { return field; },
                     [&field](const std::string& text) {
                         if (!is_utf8(text))
                             throw UsageError("expected UTF-8 text, found other bytes");
                         field = text;
                     },
                     Settings::Kind::text, "text"});
}

void bind_interval(Settings& settings, std::string name, Interval& field, double most,
                   std::string help) {
    settings.custom({std::move(name), std::move(help),
                     [&field] { return fmt::format("{},{}", field.low, field.high); },
                     [&field, most](const std::string& text) {
                         const std::size_t comma = text.find(',');
                         if (comma == std::string::npos)
                             throw UsageError(fmt::format("expected LOW,HIGH, found '{}'", text));
                         const double low = parse_number(text.substr(0, comma));
                         const double high = parse_number(text.substr(comma + 1));
                         if (!(low > 0 && low <= high && high <= most))
                             throw UsageError(fmt::format(
                                 "expected 0 < low <= high <= {:g}, found {},{}", most, low, high));
                         field = {low, high};
                     },
                     Settings::Kind::list, fmt::format("LOW,HIGH above 0, up to {:g}", most)});
}

void bind_filter(Settings& settings, std::string name, Filter& field) {
    settings.choice(std::move(name), field,
                    {{filter_name(Filter::bicubic), Filter::bicubic},
                     {filter_name(Filter::bilinear), Filter::bilinear},
                     {filter_name(Filter::lanczos), Filter::lanczos},
                     {filter_name(Filter::box), Filter::box}},
                    "how images are resized");
}

void bind_jitter(Settings& settings, std::string name, std::string& field) {
    settings.custom({std::move(name), "brightness, contrast and saturation, or each and the hue",
                     [&field] { return field; },
                     [&field](const std::string& text) {
                         ColourJitter::parse(text);
                         field = text;
                     },
                     Settings::Kind::list, "1, 3 or 4 numbers"});
}

void require(bool holds, std::string_view key, const std::string& expected) {
    if (!holds) throw UsageError(fmt::format("{}: expected {}", key, expected));
}

}  // namespace cait
