#include "report/point_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace cait {

std::optional<LineFit> fit_line(const std::vector<std::pair<double, double>>& points) {
    double mean_x = 0, mean_y = 0;
    for (const auto& [x, y] : points) {
        mean_x += x / double(points.size());
        mean_y += y / double(points.size());
    }
    double xx = 0, xy = 0, yy = 0;
    for (const auto& [x, y] : points) {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
        yy += (y - mean_y) * (y - mean_y);
    }
    if (!(xx > 0)) return std::nullopt;
    const double slope = xy / xx;
    return LineFit{slope, mean_y - slope * mean_x, yy > 0 ? xy * xy / (xx * yy) : 1};
}

namespace {

using P = ChartPlane;

// Where a name goes so that it meets neither another one nor the edge: right of its point, left of
// it, above or below, whichever is free first.
class Labels {
public:
    void add(Drawing& drawing, const DrawingPoint& point, const std::string& name) {
        constexpr double kHeight = 11, kAway = 7;
        const double width = drawn_width(name);
        const struct {
            double left, base;
        } places[] = {
            {point.x + kAway, point.y + 4},         {point.x - kAway - width, point.y + 4},
            {point.x - width / 2, point.y - kAway}, {point.x - width / 2, point.y + kAway + 9},
            {point.x + kAway, point.y - kAway},     {point.x + kAway, point.y + kAway + 9}};
        for (const auto& [left, base] : places) {
            const Box box{left, base - kHeight + 2, left + width, base + 2};
            const bool inside = box.left >= 0 && box.right <= P::kWidth && box.top >= 0 &&
                                box.bottom <= P::kHeight - P::kBottom;
            if (!inside || std::ranges::any_of(taken_, [&](const Box& one) {
                    return one.left < box.right && box.left < one.right && one.top < box.bottom &&
                           box.top < one.bottom;
                }))
                continue;
            taken_.push_back(box);
            drawing.add(Drawing::Text{"tick", {left, base}, name});
            return;  // one without a place still has its name under the pointer
        }
    }
    void keep_free(const DrawingPoint& point) {
        taken_.push_back({point.x - 4, point.y - 4, point.x + 4, point.y + 4});
    }

private:
    struct Box {
        double left, top, right, bottom;
    };
    std::vector<Box> taken_;
};

std::vector<std::string> groups_of(const PointChart& chart) {
    std::vector<std::string> groups;
    for (const NamedPoint& point : chart.points)
        if (std::ranges::find(groups, point.group) == groups.end()) groups.push_back(point.group);
    return groups;
}

void draw_fit(Figure& figure, const P& plane, const ChartRange& x, const ChartRange& y,
              const PointChart& chart) {
    std::vector<std::pair<double, double>> points;
    for (const NamedPoint& point : chart.points) points.emplace_back(point.x, point.y);
    if (points.size() < 3) return;  // a line goes through any two
    const std::optional<LineFit> fit = fit_line(points);
    if (!fit) return;
    ChartRange drawn = x;  // only where it is inside
    if (fit->slope != 0) {
        const double a = (y.low - fit->offset) / fit->slope,
                     b = (y.high - fit->offset) / fit->slope;
        drawn = {std::max(x.low, std::min(a, b)), std::min(x.high, std::max(a, b))};
    }
    figure.drawing.add(
        Drawing::Path{"diagonal",
                      {{plane.across(drawn.low), plane.down(fit->at(drawn.low))},
                       {plane.across(drawn.high), plane.down(fit->at(drawn.high))}}});
    const bool percent = chart.y_unit == ChartUnit::percent;
    const double offset = percent ? 100 * fit->offset : fit->offset;
    figure.keys.push_back(
        {"", "fit",
         fmt::format("y = {:.3g} x {} {:.3g}{}, R2 = {:.3f}", fit->slope, offset < 0 ? "-" : "+",
                     std::fabs(offset), percent ? " %" : "", fit->r2)});
}

}  // namespace

Figure point_figure(const PointChart& chart) {
    Figure figure{chart.name, chart.title, chart.y_label, {}, Drawing(P::kWidth, P::kHeight)};
    if (chart.points.empty()) return figure;
    ChartRange x, y;
    for (const NamedPoint& point : chart.points) {
        x.include(point.x);
        y.include(point.y);
    }
    const ChartAxis across{axis_ticks(x.low, x.high), chart.x_unit, chart.x_label};
    const ChartAxis up{axis_ticks(y.low, y.high), chart.y_unit};
    x = {across.ticks.front(), across.ticks.back()};
    y = {up.ticks.front(), up.ticks.back()};
    const P plane(x, y, left_for(up));
    draw_axes(figure.drawing, plane, across, up);
    if (chart.fit) draw_fit(figure, plane, x, y, chart);

    const std::vector<std::string> groups = groups_of(chart);
    Labels labels;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::string colour = fmt::format("s{}", g % 4 + 1);
        if (!groups[g].empty()) figure.keys.push_back({colour, groups[g], ""});
        std::vector<NamedPoint> members;
        std::ranges::copy_if(chart.points, std::back_inserter(members),
                             [&](const NamedPoint& one) { return one.group == groups[g]; });
        for (const NamedPoint& one : members) {
            const DrawingPoint place{plane.across(one.x), plane.down(one.y)};
            figure.drawing.add(Drawing::Disc{"dot " + colour, place, 4.5, one.name});
            labels.keep_free(place);
        }
    }
    for (const NamedPoint& one : chart.points)
        labels.add(figure.drawing, {plane.across(one.x), plane.down(one.y)}, one.name);
    return figure;
}

}  // namespace cait
