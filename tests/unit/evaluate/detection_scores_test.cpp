// COCO's twelve numbers of boxes and masks: pycocotools' on made-up detections, and known answers.
#include "evaluate/detection_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "cait/error.h"
#include "evaluate/scores.h"
#include "golden/golden_case.h"
#include "support/case_count.h"

namespace cait {
namespace {

using testing::HasSubstr;

struct MadeImage {
    std::int64_t number = 0, width = 0, height = 0;
    std::vector<DetectedObject> found;
    std::vector<Object> annotated;

    void add_to(DetectionScores& scores) const {
        scores.add(number, found, annotated, width, height);
    }
};

ObjectMask golden_mask(const nlohmann::json& json) {
    if (json.is_array())
        return {.polygons = json.get<std::vector<std::vector<double>>>(), .runs = {}};
    return {
        .polygons = {},
        .runs = mask_of_text(json["counts"].get<std::string>(), json["size"][1], json["size"][0])};
}

std::vector<MadeImage> golden_images(const nlohmann::json& golden) {
    std::vector<MadeImage> images;
    std::map<std::int64_t, std::size_t> places;
    for (const auto& image : golden["images"]) {
        places[image["id"]] = images.size();
        images.push_back({image["id"], image["width"], image["height"], {}, {}});
    }
    for (const auto& one : golden["annotations"]) {
        const auto box = one["bbox"].get<std::vector<double>>();
        images.at(places.at(one["image_id"]))
            .annotated.push_back({.label = one["category_id"].get<std::int64_t>() - 1,
                                  .box = {box[0], box[1], box[0] + box[2], box[1] + box[3]},
                                  .crowd = one["iscrowd"] == 1,
                                  .area = one["area"],
                                  .mask = golden_mask(one["segmentation"])});
    }
    for (const auto& one : golden["results"]) {
        const auto box = one["bbox"].get<std::vector<float>>();
        images.at(places.at(one["image_id"]))
            .found.push_back({.label = one["category_id"].get<std::int64_t>() - 1,
                              .score = one["score"],
                              .box = {box[0], box[1], box[0] + box[2], box[1] + box[3]},
                              .mask = golden_mask(one["segmentation"]).runs});
    }
    return images;
}

std::vector<double> twelve(const AveragePrecision& p) {
    return {p.ap,  p.ap50, p.ap75,  p.ap_small, p.ap_medium, p.ap_large,
            p.ar1, p.ar10, p.ar100, p.ar_small, p.ar_medium, p.ar_large};
}

void expect_numbers(const std::vector<double>& found, const nlohmann::json& golden,
                    std::size_t count) {
    test::CaseCount cases(count);
    ASSERT_EQ(found.size(), golden.size());
    for (std::size_t i = 0; i < found.size(); ++i, ++cases)
        EXPECT_NEAR(found[i], golden[i].get<double>(), 1e-12) << i;
}

DetectionScores all_scores(const std::vector<MadeImage>& images, std::size_t classes) {
    DetectionScores scores(classes, true);
    for (const MadeImage& image : images) image.add_to(scores);
    return scores;
}

TEST(DetectionScores, TheTwelveNumbersAreThoseOfPycocotools) {
    const nlohmann::json golden = golden::read_json("detection_scores.json");
    const std::vector<MadeImage> images = golden_images(golden);
    ASSERT_EQ(images.size(), 14U);
    const DetectionScores scores = all_scores(images, golden["classes"]);
    expect_numbers(twelve(scores.boxes()), golden["bbox"]["stats"], 12);
    expect_numbers(twelve(scores.masks()), golden["segm"]["stats"], 12);
    expect_numbers(scores.precision_curve(false, 0), golden["bbox"]["curve50"], 101);
    expect_numbers(scores.precision_curve(true, 0), golden["segm"]["curve50"], 101);
    std::vector<double> of_boxes, of_masks;
    for (const ClassRow& row : scores.class_rows()) {
        of_boxes.push_back(find_score(row.scores, "box_ap")->value);
        of_masks.push_back(find_score(row.scores, "mask_ap")->value);
    }
    expect_numbers(of_boxes, golden["bbox"]["per_class"], 5);
    expect_numbers(of_masks, golden["segm"]["per_class"], 5);
    EXPECT_FALSE(scores.class_rows()[3].counts);  // never annotated
    EXPECT_EQ(of_boxes[3], -1);
}

TEST(DetectionScores, SeveralProcessesInAnyOrderEqualOne) {
    const nlohmann::json golden = golden::read_json("detection_scores.json");
    const std::vector<MadeImage> images = golden_images(golden);
    const DetectionScores one = all_scores(images, golden["classes"]);
    std::vector<DetectionScores> parts(3, DetectionScores(golden["classes"], true));
    for (std::size_t i = images.size(); i-- > 0;) images[i].add_to(parts[i % parts.size()]);
    DetectionScores merged(golden["classes"], false);  // as who does not know of masks yet
    for (const DetectionScores& part : parts) merged.merge_packed(part.pack());
    EXPECT_EQ(merged.scores(), one.scores());
    EXPECT_EQ(merged.images(), 14U);
    EXPECT_EQ(merged.objects(), one.objects());
    DetectionScores again(golden["classes"], true);
    for (const DetectionScores& part : parts) again.merge(part);
    EXPECT_EQ(again.scores(), one.scores());
}

Object box_at(double left, double top, double side, std::int64_t label = 0) {
    return {.label = label, .box = {left, top, left + side, top + side}, .area = side * side};
}

DetectedObject found_at(float left, float top, float side, float score, std::int64_t label = 0) {
    return {.label = label, .score = score, .box = {left, top, left + side, top + side}};
}

using Found = std::vector<DetectedObject>;
using Annotated = std::vector<Object>;

void add_image(DetectionScores& scores, const Found& found, const Annotated& annotated,
               std::int64_t side = 100) {
    scores.add(found, annotated, side, side);
}

TEST(DetectionScores, WhatIsFoundExactlyHasAPrecisionOf1) {
    DetectionScores scores(2, false);
    add_image(scores, {found_at(10, 10, 20, 0.9F), found_at(50, 50, 40, 0.1F, 1)},
              {box_at(10, 10, 20), box_at(50, 50, 40, 1)});
    const AveragePrecision p = scores.boxes();
    for (const double value : {p.ap, p.ap50, p.ap75, p.ap_small, p.ap_medium, p.ar1, p.ar10})
        EXPECT_NEAR(value, 1, 1e-15);
    EXPECT_EQ(p.ap_large, -1);
    EXPECT_EQ(p.ar_large, -1);
}

// The first is right, the second wrong, the third right: precision 1 up to a recall of a half, then
// 2/3.
TEST(DetectionScores, AMistakeBetweenTwoRightAnswersCostsASixth) {
    DetectionScores scores(1, false);
    add_image(scores,
              {found_at(0, 0, 10, 0.9F), found_at(70, 70, 10, 0.8F), found_at(40, 0, 10, 0.7F)},
              {box_at(0, 0, 10), box_at(40, 0, 10)});
    EXPECT_NEAR(scores.boxes().ap50, (51 + 50 * 2.0 / 3) / 101, 1e-12);
    EXPECT_NEAR(scores.boxes().ar1, 0.5, 1e-12);
    EXPECT_NEAR(scores.boxes().ar10, 1, 1e-12);
}

TEST(DetectionScores, ACrowdIsNeitherMissedNorAMistakeHoweverOftenItIsFound) {
    DetectionScores scores(1, false);
    Object crowd = box_at(40, 40, 50);
    crowd.crowd = true;
    add_image(scores,
              {found_at(0, 0, 10, 0.5F), found_at(40, 40, 20, 0.9F), found_at(60, 60, 20, 0.8F)},
              {box_at(0, 0, 10), crowd});
    EXPECT_NEAR(scores.boxes().ap, 1, 1e-12);
    EXPECT_EQ(scores.objects(), 1U);
    EXPECT_EQ(scores.judged_boxes().size(), 1U);
    EXPECT_TRUE(scores.judged_boxes().front().right);
}

TEST(DetectionScores, WhatHasNoMaskIsNotLookedForAmongMasks) {
    Object with = box_at(0, 0, 10), without = box_at(40, 40, 10);
    with.mask.polygons = {{0, 0, 10, 0, 10, 10, 0, 10}};
    DetectedObject first = found_at(0, 0, 10, 0.5F), second = found_at(40, 40, 10, 0.9F);
    first.mask = polygon_mask(with.mask.polygons, 60, 60);
    second.mask =
        polygon_mask(std::vector<std::vector<double>>{{40, 40, 50, 40, 50, 50, 40, 50}}, 60, 60);
    DetectionScores scores(1, true);
    add_image(scores, {first, second}, {with, without}, 60);
    EXPECT_NEAR(scores.masks().ap, 1, 1e-12);
    EXPECT_NEAR(scores.boxes().ap, 1, 1e-12);
}

TEST(DetectionScores, WithoutObjectsThereIsNoPrecision) {
    DetectionScores scores(2, true);
    add_image(scores, {found_at(0, 0, 5, 0.5F)}, {});
    EXPECT_EQ(scores.boxes().ap, -1);
    EXPECT_TRUE(scores.precision_curve(false, 0).empty());
    EXPECT_EQ(score_text(make_score("box_ap", scores.boxes().ap)), "-");
}

TEST(DetectionScores, EveryScoreHasAKnownNameAndTheFirstIsTheBoxes) {
    const Scores scores = DetectionScores(3, true).scores();
    EXPECT_EQ(scores.size(), 24U);
    EXPECT_EQ(scores.front().name, "box_ap");
    EXPECT_EQ(main_scores(scores).size(), 6U);
    EXPECT_EQ(DetectionScores(3, false).scores().size(), 12U);
    EXPECT_EQ(make_measure({.name = "detect"}, 3)->scores().front().name, "box_ap");
}

TEST(DetectionScores, WhatCannotBeComparedIsRefusedAndChangesNothing) {
    DetectionScores scores(1, true);
    const auto refused = [&](const DetectedObject& found, const Object& object) {
        try {
            add_image(scores, Found{found}, Annotated{object}, 20);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(refused(found_at(0, 0, 5, 0.5F, 1), box_at(0, 0, 5)),
                HasSubstr("below 1, found 1"));
    EXPECT_THAT(refused(found_at(0, 0, 5, 0.5F), box_at(0, 0, 5, -1)), HasSubstr("found -1"));
    EXPECT_THAT(refused(found_at(0, 0, 5, nan), box_at(0, 0, 5)), HasSubstr("finite scores"));
    DetectedObject other = found_at(0, 0, 5, 0.5F);
    other.mask = RunMask{10, 10, {0, 50, 50}};
    EXPECT_THAT(refused(other, box_at(0, 0, 5)), HasSubstr("expected one size"));
    EXPECT_EQ(scores.images(), 0U);
    EXPECT_TRUE(scores.judged_boxes().empty());
}

TEST(DetectionScores, ForeignBytesAreRefused) {
    DetectionScores scores(2, true);
    add_image(scores, {found_at(0, 0, 5, 0.5F)}, {box_at(0, 0, 5)}, 20);
    std::vector<std::byte> bytes = scores.pack();
    EXPECT_THROW(DetectionScores(3, true).merge_packed(bytes), Error);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_THROW(DetectionScores(2, true).merge_packed(std::span(bytes).first(size)), Error);
    bytes.push_back({});
    EXPECT_THROW(DetectionScores(2, true).merge_packed(bytes), Error);
    DetectionScores boxes(2, false);
    add_image(boxes, {}, {});
    EXPECT_THROW(boxes.merge(scores), Error);
}

}  // namespace
}  // namespace cait
