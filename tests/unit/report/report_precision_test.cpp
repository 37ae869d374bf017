// What a report shows of a detector.
#include <gmock/gmock.h>

#include "evaluate/detection_scores.h"
#include "report/report.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::Not;

ReportData judged_page(bool masks, bool annotated) {
    auto scores = std::make_shared<DetectionScores>(2, masks);
    const std::vector<Object> objects{{.label = 1,
                                       .box = {0, 0, 10, 10},
                                       .area = 100,
                                       .mask = {.polygons = {{0, 0, 10, 0, 10, 10}}, .runs = {}}}};
    std::vector<DetectedObject> found{{.label = 1, .score = 0.5F, .box = {0, 0, 10, 10}}};
    found[0].mask = object_mask(objects[0], 20, 20);
    scores->add(found, annotated ? objects : std::vector<Object>(), 20, 20);
    ReportData data;
    data.title = "cells";
    data.classes = {"red", "<white>"};
    show_measure(scores, nullptr, data);
    return data;
}

TEST(ReportPrecision, CurvesAndSizesOfBoxesAndMasksAreShown) {
    const std::string page = report_html(judged_page(true, true));
    for (const char* part :
         {"Precision and recall", "boxes, overlap 0.5", "masks, overlap 0.75", "AP 100.0 %",
          "<th scope=\"row\">masks</th>", "box AP75", "&lt;white&gt;", "Each class"})
        EXPECT_THAT(page, HasSubstr(part));
    EXPECT_THAT(page, Not(HasSubstr("-100")));  // nothing large is annotated
}

TEST(ReportPrecision, WithoutMasksThereAreNone) {
    const std::string page = report_html(judged_page(false, true));
    EXPECT_THAT(page, HasSubstr("boxes, overlap 0.75"));
    EXPECT_THAT(page, Not(HasSubstr("mask")));
}

TEST(ReportPrecision, WithoutObjectsThereIsNoCurve) {
    const std::string page = report_html(judged_page(true, false));
    EXPECT_THAT(page, Not(HasSubstr("Precision and recall")));
    EXPECT_THAT(page, Not(HasSubstr("-100")));
}

}  // namespace
}  // namespace cait
