// The charts of a study, as parts of a page, as files of their own and as pixels.
#include "report/drawing.h"

#include <gmock/gmock.h>

#include <cmath>

#include "report/cloud_chart.h"
#include "report/interval_chart.h"
#include "report/line_chart.h"
#include "report/theme.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LineChart levels() {
    return {"Accuracy <by> level",
            "level",
            ChartUnit::percent,
            false,
            {{"a & b", {{0, 0.9}, {1, 0.5}}}},
            {"coarse", "fine"}};
}

TEST(Drawing, IsTheSameInAPageAndInAFile) {
    const Figure figure = line_figure(levels());
    const Drawing whole = whole_drawing(figure);
    const std::string html = figure_html(figure), file = svg_file(whole, figure.title);
    EXPECT_THAT(html, AllOf(HasSubstr("<figure"), HasSubstr("a &amp; b"), HasSubstr("50 %")));
    EXPECT_THAT(
        file, AllOf(StartsWith("<svg xmlns="), HasSubstr("&lt;by&gt;"), HasSubstr("a &amp; b 50 %"),
                    HasSubstr("#2f6fc4"), HasSubstr("#5a97e6"), Not(HasSubstr("var(--"))));
    EXPECT_THAT(html, HasSubstr(figure.drawing.svg()));
    EXPECT_THAT(file, HasSubstr(whole.svg()));
    // The chart is below its head, nothing of it lost.
    const std::size_t head = whole.elements().size() - figure.drawing.elements().size();
    for (std::size_t i = 0; i < figure.drawing.elements().size(); ++i)
        EXPECT_EQ(whole.elements()[head + i].index(), figure.drawing.elements()[i].index());
    EXPECT_GT(whole.height(), figure.drawing.height());
    EXPECT_EQ(line_chart_html(levels()), html);
}

TEST(Drawing, MarksEveryNamedPlace) {
    const Figure figure = line_figure(levels());
    const std::string svg = figure.drawing.svg();
    EXPECT_EQ(figure.keys[0].value, "50 %");
    EXPECT_THAT(svg, AllOf(HasSubstr(">coarse</text>"), HasSubstr(">fine</text>")));
    std::size_t dots = 0;
    for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++dots;
    EXPECT_EQ(dots, 2U);
}

TEST(CloudChart, HasAPathForEachGroupThatIsThere) {
    CloudChart chart{"map", {{0, 0}, {10, 0}, {0, 5}}, {0, 2, 0}, {"rose", "none", "<elm>"}};
    const Figure figure = cloud_figure(chart);
    const std::string svg = figure.drawing.svg();
    EXPECT_THAT(svg, AllOf(HasSubstr("class=\"cloud c0\""), HasSubstr("class=\"cloud c2\""),
                           HasSubstr("<title>&lt;elm&gt;</title></path>"), Not(HasSubstr("none"))));
    EXPECT_EQ(figure.keys.size(), 2U);
    // One scale: ten to the right are twice as far as five up, and up is up.
    EXPECT_THAT(svg, HasSubstr("M12.0 309.0h0M12.0 111.0h0"));
    EXPECT_THAT(svg, HasSubstr("M408.0 309.0h0"));
    EXPECT_TRUE(cloud_figure({"empty", {}, {}, {}}).empty());
}

TEST(CloudChart, TellsTwentyGroupsApart) {
    CloudChart chart{"map", {}, {}, {}};
    for (int i = 0; i < 25; ++i) {
        chart.points.push_back({double(i), 0});
        chart.groups.push_back(i);
        chart.names.push_back("g" + std::to_string(i));
    }
    const Figure figure = cloud_figure(chart);
    ASSERT_EQ(figure.keys.size(), 21U);
    EXPECT_EQ(figure.keys[3].style, "c3");
    EXPECT_EQ(figure.keys[13].style, "c3 square");
    EXPECT_EQ(figure.keys[20].name, "… and 5 more");
    // Dots and squares, in the legend too.
    EXPECT_THAT(whole_drawing(figure).svg(),
                AllOf(HasSubstr("<circle class=\"key c3\""), HasSubstr("<rect class=\"key c3 square\""),
                      HasSubstr("<path class=\"cloud c3 square\"")));
}

TEST(IntervalChart, DrawsMeanDeviationAndExtremes) {
    const std::vector<double> values{0.4, 0.5, 0.6};
    const Figure figure =
        interval_figure({"t", "top-1", ChartUnit::percent, {{"m<1>", 2, spread_of(values)}}});
    EXPECT_THAT(figure.drawing.svg(), AllOf(HasSubstr("m&lt;1&gt;"), HasSubstr("line whisker s2"),
                                   HasSubstr("dot s2"), HasSubstr(">40 %<"), HasSubstr(">60 %<")));
    EXPECT_TRUE(interval_figure({"t", "x", ChartUnit::number, {}}).empty());
}

// What is in the middle of a drawing, and one unit and a half from there in both directions.
std::pair<Colour, Colour> middle_and_corner(const Drawing::Element& element) {
    Drawing drawing(20, 20);
    drawing.add(element);
    const Image image = rasterised(drawing, kLightTheme, 4);
    const auto at = [&](std::int64_t x, std::int64_t y) {
        const std::uint8_t* pixel = image.row(y) + 3 * x;
        return Colour{pixel[0], pixel[1], pixel[2]};
    };
    return {at(40, 40), at(46, 46)};
}

Colour on_white(const Colour& colour, double share) {
    Colour mixed{};
    for (std::size_t c = 0; c < 3; ++c)
        mixed[c] = std::uint8_t(std::lround(255 * (1 - share) + double(colour[c]) * share));
    return mixed;
}

TEST(Raster, MarksAreDotsOrSquaresOfTheirColour) {
    const std::vector<DrawingPoint> one{{10.125, 10.125}}, twice{{10.125, 10.125}, {10.125, 10.125}, {NAN, 0}};
    const Colour colour = on_white(kLightTheme.more[3], 0.8);  // c7
    EXPECT_EQ(middle_and_corner(Drawing::Marks{"cloud c7", one, ""}).first, colour);
    // What lies over each other is no darker.
    EXPECT_EQ(middle_and_corner(Drawing::Marks{"cloud c7", twice, ""}).first, colour);
    EXPECT_EQ(middle_and_corner(Drawing::Marks{"cloud c7 square", one, ""}),
              (std::pair{colour, colour}));
    EXPECT_NE(middle_and_corner(Drawing::Marks{"cloud c7", one, ""}).second, colour);
}

TEST(Raster, WhiskersAreThinAndPale) {
    const std::vector<DrawingPoint> across{{2, 10.125}, {18, 10.125}};
    EXPECT_EQ(middle_and_corner(Drawing::Path{"line whisker s2", across}),
              (std::pair{on_white(kLightTheme.series[1], 0.6), kLightTheme.card}));
}

TEST(Theme, KnowsTheColourOfAStyle) {
    const Theme& theme = kDarkTheme;
    EXPECT_EQ(theme.colour_of("line whisker s2", {}), theme.series[1]);
    EXPECT_EQ(theme.colour_of("cloud c3 square", {}), theme.series[3]);
    EXPECT_EQ(theme.colour_of("key c9", {}), theme.more[5]);
    EXPECT_EQ(theme.colour_of("strong s6", theme.dim), theme.dim);
    EXPECT_EQ(theme.colour_of("", theme.ink), theme.ink);
}

TEST(Theme, HasEveryColourInBothSchemes) {
    EXPECT_THAT(palette_variables(), AllOf(HasSubstr("--s1: #2f6fc4"), HasSubstr("--s1: #5a97e6"),
                                           HasSubstr("--c9: #80583d")));
    EXPECT_THAT(chart_rules(), HasSubstr(".c9 { stroke: var(--c9); }"));
    EXPECT_THAT(drawing_rules(), AllOf(HasSubstr(".c9 { stroke: #80583d; }"),
                                       HasSubstr(".c9 { stroke: #b98a6a; }"), Not(HasSubstr("var("))));
}

}  // namespace
}  // namespace cait
