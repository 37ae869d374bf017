#include "report/lr_finder_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/line_chart.h"

namespace cait {

namespace {

constexpr double kWidth = 640, kHeight = 360;
constexpr double kLeft = 56, kRight = 24, kFinderTop = 40, kFinderBottom = 48;
constexpr double kBlownUp = 1.5;  // times the first loss: no more of it is shown

constexpr const char* kStyle = R"css(<style>
  :root { color-scheme: light dark; }
  .page { fill: #ffffff; } .grid { stroke: #e3e3df; fill: none; }
  text { font: 12px system-ui, sans-serif; fill: #62676d; }
  .title { font-weight: 600; font-size: 14px; fill: #1d1f21; }
  .line { fill: none; stroke: #2f6fc4; stroke-width: 2; stroke-linejoin: round; }
  .chosen { fill: none; stroke: #d9692b; stroke-width: 2; stroke-dasharray: 5 4; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #1c1f22; } .grid { stroke: #2e3236; }
    text { fill: #9aa0a6; } .title { fill: #e6e7e8; }
    .line { stroke: #5a97e6; } .chosen { stroke: #e58a52; }
  }
</style>
)css";

bool is_drawn(const LrPoint& point) {
    return point.rate > 0 && std::isfinite(point.rate) && std::isfinite(point.loss);
}

// Where rates, by their logarithm, and losses lie in the picture.
class Plane {
public:
    explicit Plane(const std::vector<LrPoint>& points)
        : left_(std::log10(points.front().rate)), right_(std::log10(points.back().rate)) {
        const auto [least, most] = std::ranges::minmax(points, {}, &LrPoint::loss);
        const double top = std::max(least.loss, kBlownUp * std::fabs(points.front().loss));
        y_ticks_ = axis_ticks(least.loss, std::min(most.loss, top));
    }

    double across(double rate) const {
        const double place = right_ > left_ ? (std::log10(rate) - left_) / (right_ - left_) : 0.5;
        return kLeft + place * (kWidth - kLeft - kRight);
    }
    double down(double loss) const {
        const double low = y_ticks_.front(), high = y_ticks_.back();
        return kHeight - kFinderBottom -
               (loss - low) / (high - low) * (kHeight - kFinderTop - kFinderBottom);
    }
    double highest() const { return y_ticks_.back(); }

    const std::vector<double>& y_ticks() const { return y_ticks_; }
    std::vector<double> powers_of_ten() const {
        std::vector<double> rates;
        for (double power = std::ceil(left_ - 1e-9); power <= right_ + 1e-9; ++power)
            rates.push_back(std::pow(10, power));
        return rates;
    }

private:
    double left_, right_;  // powers of ten
    std::vector<double> y_ticks_;
};

std::string axes(const Plane& plane) {
    std::string svg;
    for (const double tick : plane.y_ticks())
        svg += fmt::format(
            "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>"
            "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
            kLeft, plane.down(tick), kWidth - kRight, kLeft - 8, plane.down(tick) + 4,
            chart_number(tick, ChartUnit::number));
    for (const double rate : plane.powers_of_ten())
        svg += fmt::format(
            "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/>"
            "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.0e}</text>\n",
            plane.across(rate), kFinderTop, kHeight - kFinderBottom, kHeight - kFinderBottom + 18,
            rate);
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">learning rate</text>\n",
                             kWidth - kRight, kHeight - 10);
}

// Breaks where a value is missing, and ends where the loss leaves the picture.
std::string loss_line(const Plane& plane, std::span<const LrPoint> points) {
    std::string path;
    bool drawing = false;
    for (const LrPoint& point : points) {
        const bool there = is_drawn(point) && point.loss <= plane.highest();
        if (there)
            path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", plane.across(point.rate),
                                plane.down(point.loss));
        drawing = there;
    }
    return fmt::format("<path class=\"line\" d=\"{}\"/>\n", path);
}

}  // namespace

std::string lr_finder_svg(std::span<const LrPoint> points, double chosen) {
    std::vector<LrPoint> drawn;
    std::ranges::copy_if(points, std::back_inserter(drawn), is_drawn);
    if (drawn.empty()) return {};
    const Plane plane(drawn);
    std::string title = "Loss by learning rate", mark;
    if (chosen > 0) {
        title += fmt::format(", chosen: {:.2g}", chosen);
        mark = fmt::format("<path class=\"chosen\" d=\"M{:.1f} {}V{}\"/>\n", plane.across(chosen),
                           kFinderTop, kHeight - kFinderBottom);
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n{3}"
        "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n"
        "<text class=\"title\" x=\"{4}\" y=\"24\">{2}</text>\n{5}{6}{7}</svg>\n",
        kWidth, kHeight, title, kStyle, kLeft, axes(plane), mark, loss_line(plane, points));
}

}  // namespace cait
