#include "train/recipe/bind_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kLongestList = 64;

template <class T>
std::vector<T> parse_rising(const std::string& text, T least, T most, const std::string& expected) {
    std::vector<T> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        const std::string one = text.substr(begin, comma - begin);
        T value = 0;
        if constexpr (std::is_integral_v<T>)
            value = parse_integer(one);
        else
            value = parse_number(one);
        if (value < least || value > most || (!values.empty() && value <= values.back()) ||
            values.size() == kLongestList)
            throw UsageError(fmt::format("expected {}, found '{}'", expected, text));
        values.push_back(value);
        begin = comma + 1;
    }
    return values;
}

template <class T>
void bind_rising(Settings& settings, std::string name, std::vector<T>& field, T least, T most,
                 std::string none, std::string help) {
    const std::string expected = fmt::format("{}, or up to {} rising numbers from {:g} to {:g}",
                                             none, kLongestList, double(least), double(most));
    settings.custom(
        {std::move(name), std::move(help),
         [&field, none] { return field.empty() ? none : fmt::format("{}", fmt::join(field, ",")); },
         [&field, least, most, none, expected](const std::string& text) {
             if (text == none)
                 field.clear();
             else
                 field = parse_rising(text, least, most, expected);
         },
         Settings::Kind::list, expected});
}

}  // namespace

void bind_list(Settings& settings, std::string name, std::vector<std::int64_t>& field,
               std::int64_t least, std::int64_t most, std::string none, std::string help) {
    bind_rising(settings, std::move(name), field, least, most, std::move(none), std::move(help));
}

void bind_list(Settings& settings, std::string name, std::vector<double>& field, double least,
               double most, std::string none, std::string help) {
    bind_rising(settings, std::move(name), field, least, most, std::move(none), std::move(help));
}

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
