#include "evaluate/segmentation_scores.h"

#include "data/label_image.h"
#include "evaluate/scores.h"
#include "golden/golden_case.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

void add_stored(SegmentationScores& scores, const nlohmann::json& image) {
    scores.add(image["predicted"].get<Bytes>(), image["labels"].get<Bytes>());
}

TEST(SegmentationScores, EqualMmsegsFormulas) {
    const nlohmann::json numbers = golden::read_json("segment_images.json")["scores"];
    SegmentationScores scores(numbers["classes"]);
    for (const nlohmann::json& image : numbers["images"]) add_stored(scores, image);
    EXPECT_EQ(scores.images(), 3U);
    EXPECT_NEAR(scores.miou(), numbers["miou"], 1e-12);
    EXPECT_NEAR(scores.macc(), numbers["macc"], 1e-12);
    EXPECT_NEAR(scores.aacc(), numbers["aacc"], 1e-12);
    for (std::size_t i = 0; i < scores.classes(); ++i) {
        EXPECT_NEAR(scores.per_class()[i].iou(), numbers["iou"][i], 1e-12) << i;
        EXPECT_NEAR(scores.per_class()[i].accuracy(), numbers["accuracy"][i], 1e-12) << i;
    }
}

// Class 0: 2 hits, 3 labelled, 2 predicted. Class 1: 1 hit, 1 labelled, 2 predicted. Class 2 does
// not occur; class 3 is predicted only where nothing is labelled.
TEST(SegmentationScores, ByHand) {
    SegmentationScores scores(4);
    scores.add(Bytes{0, 0, 1, 1, 3}, Bytes{0, 0, 0, 1, kIgnored});
    EXPECT_DOUBLE_EQ(scores.miou(), (2.0 / 3 + 1.0 / 2) / 2);
    EXPECT_DOUBLE_EQ(scores.macc(), (2.0 / 3 + 1) / 2);
    EXPECT_DOUBLE_EQ(scores.aacc(), 3.0 / 4);
    EXPECT_EQ(scores.pixels(), 4U);
    EXPECT_EQ(scores.confusions(0, 1), 1U);
    const std::vector<ClassRow> rows = scores.class_rows();
    EXPECT_FALSE(rows[2].counts);
    EXPECT_FALSE(rows[3].counts);
    EXPECT_EQ(find_score(rows[0].scores, "pixels")->value, 3);
    EXPECT_THAT(scores.shown()[0].remark, HasSubstr("2 of 4 classes"));
}

TEST(SegmentationScores, PartsOfSeveralProcessesAreWhatOneProcessCollects) {
    const nlohmann::json numbers = golden::read_json("segment_images.json")["scores"];
    SegmentationScores all(6), first(6), second(6), merged(6);
    for (const nlohmann::json& image : numbers["images"]) add_stored(all, image);
    add_stored(first, numbers["images"][0]);
    add_stored(second, numbers["images"][1]);
    add_stored(second, numbers["images"][2]);
    merged.merge(first);
    merged.merge_packed(second.pack());
    EXPECT_EQ(merged.images(), 3U);
    EXPECT_EQ(merged.scores(), all.scores());
    EXPECT_EQ(merged.pack(), all.pack());
    const std::string text = error_of([&] { merged.merge_packed(SegmentationScores(5).pack()); });
    EXPECT_THAT(text, HasSubstr("expected 6 classes to merge, found 5"));
    const std::vector<std::byte> packed = all.pack();
    EXPECT_THAT(error_of([&] { merged.merge_packed(std::span(packed).first(packed.size() - 1)); }),
                HasSubstr("other bytes"));
}

TEST(SegmentationScores, WhatIsNoClassIsRefusedAndLeavesNoTrace) {
    SegmentationScores scores(3);
    EXPECT_THAT(error_of([&] {
                    scores.add(Bytes{0, 1}, Bytes{0, 3});
                }),
                HasSubstr("expected labels below 3, found 3"));
    EXPECT_THAT(error_of([&] {
                    scores.add(Bytes{0, 5}, Bytes{0, 1});
                }),
                HasSubstr("expected predicted classes below 3, found 5"));
    EXPECT_THAT(error_of([&] { scores.add(Bytes{0, 1}, Bytes{0}); }), HasSubstr("found 1"));
    EXPECT_EQ(scores.pixels(), 0U);
    EXPECT_EQ(scores.images(), 0U);
    EXPECT_EQ(scores.miou(), 0);
    EXPECT_THAT(error_of([] { SegmentationScores(256); }), HasSubstr("1 to 255"));
    EXPECT_THAT(error_of([&] { scores.add(7, std::vector<float>{1}, {}); }),
                HasSubstr("label image"));
}

TEST(SegmentationScores, AreTheMeasureOfTheTask) {
    const MeasurePtr measure = make_measure({.name = "segment"}, 3);
    EXPECT_EQ(measure->scores().front().name, "miou");
}

}  // namespace
}  // namespace cait
