#include "report/lr_finder_chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(LrFinderChart, HasPowersOfTenAndTheChosenRate) {
    const std::vector<LrPoint> points{{1e-5, 2.3}, {1e-4, 2.0}, {1e-3, 1.2}, {1e-2, 1.6}};
    const std::string svg = lr_finder_svg(points, 3e-4);
    EXPECT_THAT(svg, AllOf(HasSubstr(">1e-05<"), HasSubstr(">1e-04<"), HasSubstr(">1e-02<"),
                           HasSubstr("chosen: 0.0003"), HasSubstr("class=\"chosen\""),
                           HasSubstr("prefers-color-scheme: dark")));
    // Equal factors are equal steps: 568 units for three powers of ten from 56 on.
    EXPECT_THAT(svg, AllOf(HasSubstr("M56.0 "), HasSubstr("L242.7 "), HasSubstr("L429.3 "),
                           HasSubstr("L616.0 ")));
}

TEST(LrFinderChart, LeavesOutWhatBlewUp) {
    const std::vector<LrPoint> points{{1e-3, 2.0}, {1e-2, 1.0}, {1e-1, 1e30}, {1, NAN}};
    const std::string svg = lr_finder_svg(points, 0);
    EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")), Not(HasSubstr("e+30")),
                           Not(HasSubstr("chosen:"))));
}

TEST(LrFinderChart, IsEmptyWithoutAFinitePoint) {
    EXPECT_EQ(lr_finder_svg({}, 1e-3), "");
    EXPECT_EQ(lr_finder_svg(std::vector<LrPoint>{{1e-3, NAN}, {0, 1}}, 1e-3), "");
}

}  // namespace
}  // namespace cait
