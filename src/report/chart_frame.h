// What the charts of a page have in common: a plane with round numbers at its edges, and the figure
// around it. Charts take their colours from the page's style, so they follow light and dark.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "report/drawing.h"

namespace cait {

enum class ChartUnit { number, percent };  // percent: 0.5 is shown as 50 %

struct ChartRange {
    double low = INFINITY;
    double high = -INFINITY;
    void include(double value) {
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    bool empty() const { return !(low <= high); }
};

// Places in the drawing; one unit is about a pixel on a phone and a little more on a desk.
class ChartPlane {
public:
    static constexpr double kWidth = 420, kHeight = 220;
    static constexpr double kLeft = 46, kRight = 10, kTop = 10, kBottom = 34;

    // `left` is more than kLeft where the numbers beside the plane need it (left_for()).
    ChartPlane(ChartRange x, ChartRange y, double left = kLeft) : x_(x), y_(y), left_(left) {}
    double left() const { return left_; }
    double across(double x) const { return left_ + place(x, x_) * (kWidth - left_ - kRight); }
    double down(double y) const {
        return kHeight - kBottom - place(y, y_) * (kHeight - kTop - kBottom);
    }

private:
    static double place(double value, const ChartRange& range) {
        return range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
    }
    ChartRange x_, y_;
    double left_;
};

// 3 to 7 round numbers that cover low to high.
std::vector<double> axis_ticks(double low, double high);

// "0.031", "1.2e-06", "20000", "31.4 %".
std::string chart_number(double value, ChartUnit unit);

// The ticks of one axis as texts that tell them apart, however near they are.
std::vector<std::string> tick_texts(const std::vector<double>& ticks, ChartUnit unit);

struct ChartAxis {
    std::vector<double> ticks;
    ChartUnit unit = ChartUnit::number;
    std::string_view label = {};          // of the one across
    std::vector<std::string> texts = {};  // in place of the ticks' numbers
};
double left_for(const ChartAxis& y);
void draw_axes(Drawing& drawing, const ChartPlane& plane, const ChartAxis& x, const ChartAxis& y);
std::string axes_svg(const ChartPlane& plane, const ChartAxis& x, const ChartAxis& y);

// A <figure> with title, legend and drawing; `legend` is HTML.
std::string chart_figure(std::string_view title, std::string_view legend, std::string_view svg,
                         double width = ChartPlane::kWidth, double height = ChartPlane::kHeight);

// A <span> of a legend; `style` is that of its colour, "s1 dash" or "c3 square", or empty.
std::string legend_entry(std::string_view style, std::string_view name, std::string_view value);

}  // namespace cait
