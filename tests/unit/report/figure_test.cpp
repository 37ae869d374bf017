#include "report/figure.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "image/codec/decode.h"
#include "image/draw/colour_map.h"
#include "report/line_chart.h"
#include "report/matrix_chart.h"
#include "report/point_chart.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Colour at(const Image& image, std::int64_t x, std::int64_t y) {
    const std::uint8_t* pixel = image.row(y) + 3 * x;
    return {pixel[0], pixel[1], pixel[2]};
}

TEST(Raster, DrawsWhatTheDrawingSays) {
    Drawing drawing(40, 20);
    drawing.add(Drawing::Path{"line s1", {{2, 10}, {20, 10}}});
    drawing.add(Drawing::Path{"line s2 dash", {{22, 4}, {38, 4}}});
    drawing.add(Drawing::Rectangle{"key s3", 30, 12, 6, 6});
    drawing.add(Drawing::Disc{"dot s4", {6, 4}, 3, "name"});
    Image blue = Image::blank(1, 1, 3);
    blue.pixels = {0, 0, 255};
    drawing.add(Drawing::Picture{blue, 22, 12, 4, 4});
    for (const Theme& theme : {kLightTheme, kDarkTheme}) {
        const Image image = rasterised(drawing, theme, 2);
        ASSERT_EQ(image.width, 80);
        ASSERT_EQ(image.height, 40);
        EXPECT_EQ(at(image, 79, 39), theme.card);
        EXPECT_EQ(at(image, 20, 20), theme.series[0]);  // the middle of the line
        EXPECT_EQ(at(image, 20, 24), theme.card);       // beside it
        EXPECT_EQ(at(image, 48, 8), theme.series[1]);   // the first dash,
        EXPECT_EQ(at(image, 60, 8), theme.card);        // the gap behind it
        EXPECT_EQ(at(image, 66, 30), theme.series[2]);
        EXPECT_EQ(at(image, 12, 8), theme.series[3]);
        EXPECT_EQ(at(image, 48, 28), (Colour{0, 0, 255}));
    }
}

TEST(Raster, TextsHaveTheirPlaceAndAnchor) {
    using Anchor = Drawing::Anchor;
    const auto columns = [](Anchor anchor) {  // where there is ink
        Drawing drawing(100, 20);
        drawing.add(Drawing::Text{"strong", {50, 15}, "HHH", anchor});
        const Image image = rasterised(drawing, kLightTheme, 1);
        std::pair<std::int64_t, std::int64_t> range{100, 0};
        for (std::int64_t x = 0; x < 100; ++x)
            for (std::int64_t y = 8; y < 15; ++y)
                if (at(image, x, y) != kLightTheme.card)
                    range = {std::min(range.first, x), std::max(range.second, x)};
        return range;
    };
    // 25 units wide, of which the first letter leaves one free at each of its sides.
    const auto expect_near = [&](Anchor anchor, std::int64_t left) {
        EXPECT_NEAR(double(columns(anchor).first), double(left + 1), 1);
        EXPECT_NEAR(double(columns(anchor).second), double(left + 23), 1);
    };
    expect_near(Anchor::start, 50);
    expect_near(Anchor::end, 25);
    expect_near(Anchor::middle, 38);
}

LineChart two_lines() {
    return {.title = "Share <of> branches",
            .x_label = "layer",
            .series = {{"first", {{0, 1}, {1, NAN}, {2, 3}}}, {"second", {{0, 2}, {2, 1}}}},
            .every_point = true,
            .name = "share",
            .y_label = "ratio"};
}

TEST(Figure, BecomesAFileThatIsLightAndDark) {
    const TemporaryFolder folder;
    write_figure(folder.path(), line_figure(two_lines()));
    std::ifstream file(folder.path() / "share.svg");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_THAT(text.str(),
                AllOf(HasSubstr("Share &lt;of&gt; branches"), HasSubstr(">ratio<"),
                      HasSubstr(">layer<"), HasSubstr(">first<"), HasSubstr(">second<"),
                      HasSubstr("prefers-color-scheme: dark"), HasSubstr("#2f6fc4"),
                      HasSubstr("#5a97e6"), Not(HasSubstr("nan")), Not(HasSubstr("var("))));
    const Image image = read_image(folder.path() / "share.png");
    EXPECT_EQ(image.width, 2 * 420);
    EXPECT_GT(image.height, 2 * 250);
    EXPECT_EQ(at(image, 0, 0), kLightTheme.card);
    write_figure(folder.path(), Figure{.name = "none"});
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "none.svg"));
}

TEST(Figure, OfAPageHasItsLegend) {
    const std::string html = figure_html(line_figure(two_lines()));
    EXPECT_THAT(html, AllOf(HasSubstr("<span>ratio</span>"), HasSubstr("key s2"),
                            HasSubstr("Share &lt;of&gt; branches")));
    EXPECT_EQ(figure_html(Figure{}), "");
}

TEST(Figure, FiveLinesAreToldApart) {
    LineChart chart{.title = "", .x_label = "", .series = {}, .every_point = true};
    for (int i = 0; i < 5; ++i) chart.series.push_back({std::to_string(i), {{0, i}, {1, i}}});
    const Figure figure = line_figure(chart);
    EXPECT_EQ(figure.keys[0].style, "s1");
    EXPECT_EQ(figure.keys[4].style, "s1 dash");
    EXPECT_THAT(figure.drawing.svg(), HasSubstr("class=\"line s1 dash\""));
}

// Long titles are wrapped, names shortened, and numbers beside the plane get the room they need.
TEST(Figure, NoTextLeavesTheDrawing) {
    const std::string lengthy =
        "a name that is far too long for the room that there is for it, "
        "and another one, and a third one behind both of them";
    LineChart numbers{.title = lengthy,
                      .x_label = "epoch",
                      .unit = ChartUnit::percent,
                      .series = {{lengthy, {{0, 0.99951}, {1, 0.99953}}}},
                      .y_label = lengthy};
    LineChart names = two_lines();
    names.x_names = {lengthy, "b", lengthy};
    const PointChart points{.title = lengthy,
                            .x_label = "x",
                            .points = {{lengthy, 1, 12345.5, lengthy}, {"b", 2, 12345.7, "b"}}};
    for (const Figure& figure : {line_figure(numbers), line_figure(names), point_figure(points)}) {
        const Drawing whole = whole_drawing(figure);
        std::size_t texts = 0;
        for (const Drawing::Element& element : whole.elements()) {
            const auto* text = std::get_if<Drawing::Text>(&element);
            if (text == nullptr) continue;
            ++texts;
            const double width = drawn_width(text->text, text->style);
            const double left = text->at.x - width * double(int(text->anchor)) / 2;
            EXPECT_GE(left, 0) << text->text;
            EXPECT_LE(left + width, whole.width()) << text->text;
            EXPECT_LE(text->at.y, whole.height()) << text->text;
        }
        EXPECT_GT(texts, 5U);
    }
}

TEST(Figure, PicturesAreTheSameEveryTime) {
    const Drawing whole = whole_drawing(line_figure(two_lines()));
    EXPECT_EQ(rasterised(whole, kLightTheme, 2), rasterised(whole, kLightTheme, 2));
}

// NumPy's polyfit (tests/golden/make_analyses.py).
TEST(PointChart, FitsALineAsNumPyDoes) {
    const auto fit =
        fit_line({{0.70, 0.571}, {0.76, 0.645}, {0.79, 0.671}, {0.81, 0.702}, {0.85, 0.743}});
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->slope, 1.146372240, 1e-8);
    EXPECT_NEAR(fit->offset, -0.230063091, 1e-8);
    EXPECT_NEAR(fit->r2, 0.996916990, 1e-8);
    EXPECT_FALSE(fit_line({}));
    EXPECT_FALSE(fit_line({{1, 2}}));
    EXPECT_FALSE(fit_line({{1, 2}, {1, 3}}));
}

TEST(PointChart, NamesItsPointsAndColoursGroups) {
    PointChart chart{.name = "cost", .title = "Cost", .x_label = "GMAC", .y_label = "top-1"};
    EXPECT_TRUE(point_figure(chart).empty());
    chart.points = {{"small", 1, 0.7, "a"}, {"large", 5, 0.8, "a"}, {"other", 3, 0.75, "b"}};
    chart.y_unit = ChartUnit::percent;
    const std::string svg = point_figure(chart).drawing.svg();
    EXPECT_THAT(svg, AllOf(HasSubstr(">small</text>"), HasSubstr("<title>large</title>"),
                           HasSubstr("class=\"dot s1\""), HasSubstr("class=\"dot s2\""),
                           Not(HasSubstr("diagonal"))));
    chart.fit = true;
    const Figure fitted = point_figure(chart);
    EXPECT_THAT(fitted.drawing.svg(), HasSubstr("diagonal"));
    EXPECT_THAT(fitted.keys[0].value, HasSubstr("R2 = 1.000"));
    chart.points.pop_back();  // a line through two points says nothing
    EXPECT_THAT(point_figure(chart).drawing.svg(), Not(HasSubstr("diagonal")));
    // Where there is no room for a name it is left to the pointer: none lies over another.
    chart.points.clear();
    for (int i = 0; i < 60; ++i) chart.points.push_back({"a long name", 1, 0.7, ""});
    const std::string crowded = point_figure(chart).drawing.svg();
    std::size_t names = 0;
    for (std::size_t p = 0; (p = crowded.find(">a long name</text>", p)) != std::string::npos; ++p)
        ++names;
    EXPECT_LE(names, 6U);
    EXPECT_GE(names, 1U);
}

TEST(MatrixChart, ShowsEachNumberInItsPlace) {
    const std::vector<double> values = {1, 0, 0.5, 1};
    const Figure figure = matrix_figure(
        {.name = "m", .title = "Alike", .axis_label = "layer", .size = 2, .values = values});
    const Image image = rasterised(figure.drawing, kLightTheme, 1);
    const auto cell = [&](int column, int row) {
        return at(image, 46 + 65 + 130 * column, 4 + 65 + 130 * row);
    };
    EXPECT_EQ(cell(0, 0), cividis_colour(1));
    EXPECT_EQ(cell(1, 0), cividis_colour(0));
    EXPECT_EQ(cell(0, 1), cividis_colour(0.5));
    // Where one is negative the colours have signs, and so has the scale.
    const std::vector<double> signs = {1, -1, 0, 1};
    const Figure with_signs = matrix_figure({.size = 2, .values = signs});
    EXPECT_EQ(at(rasterised(with_signs.drawing, kLightTheme, 1), 46 + 195, 4 + 65),
              signed_colour(-1));
    EXPECT_THAT(with_signs.drawing.svg(), HasSubstr(">-0.5</text>"));
    EXPECT_TRUE(matrix_figure({}).empty());
    EXPECT_TRUE(tile_figure("t", "T", "", {}).empty());
    EXPECT_THAT(tile_figure("t", "T", "", {{"layer 3", Image::blank(4, 4, 3)}}).drawing.svg(),
                AllOf(HasSubstr("layer 3"), HasSubstr("data:image/png;base64,")));
}

TEST(Figure, KeysThatWouldReachBeyondTheMarginBeginAnotherRow) {
    constexpr double kWidth = 400, kMargin = 12;
    // Whatever the length of the names: some row would end just beyond the margin.
    for (int length = 1; length < 30; ++length) {
        Figure figure{.name = "keys", .title = "Keys", .drawing = Drawing(kWidth, 50)};
        for (int i = 0; i < 12; ++i)
            figure.keys.push_back({"s1", std::string(std::size_t(length), 'n')});
        std::size_t keys = 0;
        const Drawing whole = whole_drawing(figure);
        for (const Drawing::Element& element : whole.elements())
            if (const auto* text = std::get_if<Drawing::Text>(&element);
                text != nullptr && text->style == "strong") {
                EXPECT_LE(text->at.x + drawn_width(text->text, "strong"), kWidth - kMargin + 1e-9)
                    << length;
                ++keys;
            }
        EXPECT_EQ(keys, 12U);
    }
}

}  // namespace
}  // namespace cait
