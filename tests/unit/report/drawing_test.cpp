// Drawings as parts of a page and as files of their own.
#include "report/drawing.h"

#include <gmock/gmock.h>

#include "report/chart_style.h"
#include "report/cloud_chart.h"
#include "report/interval_chart.h"
#include "report/line_chart.h"

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
    const Drawing drawing = line_drawing(levels());
    const std::string html = drawing_html(drawing), file = drawing_file(drawing);
    EXPECT_THAT(html, AllOf(HasSubstr("<figure"), HasSubstr("a &amp; b"), HasSubstr("50 %")));
    EXPECT_THAT(
        file, AllOf(StartsWith("<svg xmlns="), HasSubstr("&lt;by&gt;"), HasSubstr("a &amp; b 50 %"),
                    HasSubstr("#2f6fc4"), HasSubstr("#5a97e6"), Not(HasSubstr("var(--"))));
    EXPECT_THAT(html, HasSubstr(drawing.svg));
    EXPECT_THAT(file, HasSubstr(drawing.svg));
    EXPECT_EQ(line_chart_html(levels()), html);
    EXPECT_EQ(drawing_html({}), "");
    EXPECT_EQ(drawing_file({}), "");
}

TEST(Drawing, MarksEveryNamedPlace) {
    const std::string svg = line_drawing(levels()).svg;
    EXPECT_THAT(svg, AllOf(HasSubstr(">coarse</text>"), HasSubstr(">fine</text>")));
    std::size_t dots = 0;
    for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++dots;
    EXPECT_EQ(dots, 2U);
    LineChart many{"", "x", ChartUnit::number, false, {}};
    for (int i = 0; i < 5; ++i) many.series.push_back({"s", {{0, i}, {1, i}}});
    EXPECT_THAT(line_drawing(many).svg, HasSubstr("class=\"line s1 dashed\""));
}

TEST(CloudChart, HasAPathForEachGroupThatIsThere) {
    CloudChart chart{"map", {{0, 0}, {10, 0}, {0, 5}}, {0, 2, 0}, {"rose", "none", "<elm>"}};
    const Drawing drawing = cloud_chart(chart);
    EXPECT_THAT(drawing.svg, AllOf(HasSubstr("class=\"cloud c0\""), HasSubstr("class=\"cloud c2\""),
                                   HasSubstr("&lt;elm&gt;"), Not(HasSubstr("none"))));
    EXPECT_EQ(drawing.legend.size(), 2U);
    // One scale: ten to the right are twice as far as five up, and up is up.
    EXPECT_THAT(drawing.svg, HasSubstr("M12.0 309.0h0M12.0 111.0h0"));
    EXPECT_THAT(drawing.svg, HasSubstr("M408.0 309.0h0"));
    EXPECT_TRUE(cloud_chart({"empty", {}, {}, {}}).empty());
}

TEST(CloudChart, TellsTwentyGroupsApart) {
    CloudChart chart{"map", {}, {}, {}};
    for (int i = 0; i < 25; ++i) {
        chart.points.push_back({double(i), 0});
        chart.groups.push_back(i);
        chart.names.push_back("g" + std::to_string(i));
    }
    const Drawing drawing = cloud_chart(chart);
    ASSERT_EQ(drawing.legend.size(), 21U);
    EXPECT_EQ(drawing.legend[3].style, "c3");
    EXPECT_EQ(drawing.legend[13].style, "c3 square");
    EXPECT_EQ(drawing.legend[20].name, "… and 5 more");
}

TEST(IntervalChart, DrawsMeanDeviationAndExtremes) {
    const std::vector<double> values{0.4, 0.5, 0.6};
    const Drawing drawing =
        interval_chart({"t", "top-1", ChartUnit::percent, {{"m<1>", 2, spread_of(values)}}});
    EXPECT_THAT(drawing.svg, AllOf(HasSubstr("m&lt;1&gt;"), HasSubstr("line whisker s2"),
                                   HasSubstr("dot s2"), HasSubstr(">40 %<"), HasSubstr(">60 %<")));
    EXPECT_TRUE(interval_chart({"t", "x", ChartUnit::number, {}}).empty());
}

TEST(ChartStyle, HasEveryColourInBothSchemes) {
    EXPECT_THAT(palette_variables(), AllOf(HasSubstr("--s1: #2f6fc4"), HasSubstr("--s1: #5a97e6"),
                                           HasSubstr("--c9: #80583d")));
    EXPECT_THAT(chart_rules(), HasSubstr(".c9 { stroke: var(--c9); }"));
}

}  // namespace
}  // namespace cait
