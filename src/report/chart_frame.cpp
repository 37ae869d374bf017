#include "report/chart_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "report/html.h"

namespace cait {

namespace {
constexpr double kTickGap = 6;  // between the plane and its numbers
}

std::string chart_number(double value, ChartUnit unit) {
    if (unit == ChartUnit::percent) return fmt::format("{:.3g} %", 100 * value);
    constexpr double kLargestWhole = 1e7;  // steps and the like are not written as 2e+04
    const bool whole = value == std::floor(value) && std::fabs(value) < kLargestWhole;
    return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks, ChartUnit unit) {
    std::vector<std::string> texts;
    for (const double tick : ticks) texts.push_back(chart_number(tick, unit));
    if (ticks.size() < 2 || unit != ChartUnit::percent) return texts;
    constexpr double kSlack = 1e-6;  // 0.1 is a little less than a tenth
    const double step = 100 * (ticks[1] - ticks[0]);
    const int decimals = std::clamp(int(std::ceil(-std::log10(step) - kSlack)), 0, 6);
    for (std::size_t i = 0; i < ticks.size(); ++i)
        texts[i] = fmt::format("{:.{}f} %", 100 * ticks[i], decimals);
    return texts;
}

std::vector<double> axis_ticks(double low, double high) {
    if (!(high > low)) {
        const double margin = low == 0 ? 1 : std::fabs(low) * 0.1;
        low -= margin;
        high += margin;
    }
    const double rough = (high - low) / 4;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
        if (factor * power >= rough * 0.7) step = factor * power;
    std::vector<double> ticks;
    const auto first = std::int64_t(std::floor(low / step + 1e-9));
    const auto last = std::int64_t(std::ceil(high / step - 1e-9));
    for (std::int64_t i = first; i <= last; ++i) ticks.push_back(double(i) * step);
    return ticks;
}

double left_for(const ChartAxis& y) {
    double widest = 0;
    for (const std::string& text : tick_texts(y.ticks, y.unit))
        widest = std::max(widest, drawn_width(text));
    return std::max(ChartPlane::kLeft, widest + kTickGap + 1);
}

void draw_axes(Drawing& drawing, const ChartPlane& plane, const ChartAxis& x, const ChartAxis& y) {
    using P = ChartPlane;
    using Anchor = Drawing::Anchor;
    const std::vector<std::string> y_texts = tick_texts(y.ticks, y.unit);
    for (std::size_t i = 0; i < y.ticks.size(); ++i) {
        const double down = plane.down(y.ticks[i]);
        drawing.add(Drawing::Path{"grid", {{plane.left(), down}, {P::kWidth - P::kRight, down}}});
        drawing.add(
            Drawing::Text{"tick", {plane.left() - kTickGap, down + 3.5}, y_texts[i], Anchor::end});
    }
    std::vector<std::string> x_texts = x.texts.empty() ? tick_texts(x.ticks, x.unit) : x.texts;
    for (std::size_t i = 0; i < x.ticks.size(); ++i) {
        const double at = plane.across(x.ticks[i]);
        // Names, unlike numbers, may be longer than there is room between two of them.
        if (!x.texts.empty() && x.ticks.size() > 1)
            x_texts[i] = fitted_text(
                x_texts[i], plane.across(x.ticks[1]) - plane.across(x.ticks[0]) - kTickGap);
        // A text that would run out of the drawing ends at its edge.
        const bool fits = at + drawn_width(x_texts[i]) / 2 <= P::kWidth;
        drawing.add(Drawing::Text{"tick",
                                  {fits ? at : P::kWidth, P::kHeight - P::kBottom + 15},
                                  x_texts[i],
                                  fits ? Anchor::middle : Anchor::end});
    }
    drawing.add(Drawing::Text{
        "tick", {P::kWidth - P::kRight, P::kHeight - 4}, std::string(x.label), Anchor::end});
}

std::string axes_svg(const ChartPlane& plane, const ChartAxis& x, const ChartAxis& y) {
    Drawing drawing(ChartPlane::kWidth, ChartPlane::kHeight);
    draw_axes(drawing, plane, x, y);
    return drawing.svg();
}

std::string chart_figure(std::string_view title, std::string_view legend, std::string_view svg,
                         double width, double height) {
    return fmt::format(
        "<figure class=\"chart\"><figcaption>{0}</figcaption>\n<p class=\"legend\">{1}</p>\n"
        "<svg viewBox=\"0 0 {2} {3}\" role=\"img\" aria-label=\"{0}\">\n{4}</svg></figure>\n",
        html_text(title), legend, width, height, svg);
}

std::string legend_entry(std::string_view style, std::string_view name, std::string_view value) {
    return fmt::format(
        "<span>{}{}{}</span> ",
        style.empty() ? std::string() : fmt::format("<i class=\"key {}\"></i>", style),
        html_text(name),
        value.empty() ? std::string() : fmt::format(" <b>{}</b>", html_text(value)));
}

}  // namespace cait
