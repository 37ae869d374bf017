// A model that detects, asked through the command: what the library finds, in every form, and what
// else works on its trunk.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cait/detector.h"
#include "data/random.h"
#include "e2e/tiny_models.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/draw.h"
#include "image/masks/run_mask.h"
#include "support/tiny_detector.h"
#include "support/tiny_model.h"
#include "unit/data/support.h"
#include "weights/npy.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Detect : public InFolder {
protected:
    Detect() {
        test::tiny_detector().save(path("objects.safetensors"));
        std::filesystem::create_directories(folder_ / "photos");
        for (int i = 0; i < 3; ++i) write_image(folder_ / photo(i), picture(i));
    }

    static std::string photo(int i) { return fmt::format("photos/{}.png", 10 + i); }
    // Of different sizes, with something to see.
    static Image picture(int i) {
        RandomStream random(3, "detect");
        Image image = Image::blank(90 + 23 * i, 100 - 11 * i, 3);
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    image.row(y)[3 * x + c] =
                        std::uint8_t(int(random.bits() % 60) + ((x / 12 + y / 9 + c) % 3) * 90);
        return image;
    }
    Detections by_library(int i, const DetectorOptions& options = {}) const {
        return Detector(Model::load(path("objects.safetensors")), {.threads = 1}, options)
            .detect(folder_ / photo(i));
    }
    Words weights() const { return {"--weights", path("objects.safetensors")}; }
};

TEST_F(Detect, PredictGivesWhatTheLibraryFinds) {
    const Finished said =
        cait(Words{"predict"} + weights() +
             Words{path("photos"), "--json", "--threshold", "0.3", "--overlays", path("shown")});
    ASSERT_EQ(said.status, 0) << said.err;
    const json answers = json::parse(said.out);
    ASSERT_EQ(answers.size(), 3U);
    std::size_t objects = 0;
    for (int i = 0; i < 3; ++i) {
        const Detections expected = by_library(i, {.threshold = 0.3});
        const json& answer = answers[std::size_t(i)];
        EXPECT_EQ(answer["width"], expected.width);
        EXPECT_EQ(answer["height"], expected.height);
        ASSERT_EQ(answer["objects"].size(), expected.objects.size());
        for (std::size_t j = 0; j < expected.objects.size(); ++j) {
            const json& found = answer["objects"][j];
            const Detection& object = expected.objects[j];
            EXPECT_EQ(found["label"], object.name);
            EXPECT_EQ(found["index"], object.index);
            EXPECT_EQ(found["score"], object.score);
            EXPECT_NEAR(found["box"][0], object.left, 1e-3);
            EXPECT_NEAR(found["box"][3], object.bottom, 1e-3);
            EXPECT_EQ(found["mask"]["size"], (json{expected.height, expected.width}));
            EXPECT_EQ(mask_of_text(found["mask"]["counts"].get<std::string>(), expected.width,
                                   expected.height)
                          .runs,
                      object.mask);
            ++objects;
        }
        const Image shown = read_image(folder_ / fmt::format("shown/{}.png", 10 + i));
        EXPECT_EQ(shown.width, 4 * expected.width);  // small ones are enlarged
        EXPECT_EQ(shown.height, 4 * expected.height);
        EXPECT_NE(shown, scaled(picture(i), shown.width, shown.height, Scaling::smooth));
    }
    EXPECT_GT(objects, 3U);
}

TEST_F(Detect, PredictHasLinesTablesAndCocosResults) {
    const Finished lines =
        cait(Words{"predict"} + weights() + Words{path(photo(0)), "--threshold", "0.3"});
    EXPECT_THAT(lines.out, testing::ContainsRegex("(circle|square|star) [0-9.]+ %  [0-9]+,"));
    const Finished none =
        cait(Words{"predict"} + weights() + Words{path(photo(0)), "--threshold", "1"});
    EXPECT_THAT(none.out, HasSubstr("nothing reaches 100.0 %"));
    const Finished csv = cait(Words{"predict"} + weights() +
                              Words{path("photos"), "--csv", "--threshold", "0.3", "--coco",
                                    path("found.json"), "--output", path("found.csv")});
    ASSERT_EQ(csv.status, 0) << csv.err;
    EXPECT_THAT(read(path("found.csv")),
                StartsWith("image,class,index,score,left,top,right,bottom\n"));
    const json results = json::parse(read(path("found.json")));
    const Detections first = by_library(0, {.threshold = 0.3});
    ASSERT_GE(results.size(), first.objects.size());
    // The numbers that the files are named by, COCO's ids of classes and its boxes.
    EXPECT_EQ(results.front()["image_id"], 10);
    EXPECT_EQ(results.back()["image_id"], 12);
    EXPECT_EQ(results.front()["category_id"], first.objects.front().index + 1);
    EXPECT_NEAR(results.front()["bbox"][2],
                first.objects.front().right - first.objects.front().left, 2e-3);
    EXPECT_TRUE(results.front()["segmentation"]["counts"].is_string());
}

TEST_F(Detect, TopAndThresholdLeaveOutTheRest) {
    const Finished one = cait(Words{"predict"} + weights() +
                              Words{path("photos"), "--jsonl", "--top", "1", "--threshold", "0"});
    ASSERT_EQ(one.status, 0) << one.err;
    std::istringstream text(one.out);
    int count = 0;
    for (std::string line; std::getline(text, line); ++count)
        EXPECT_EQ(json::parse(line)["objects"].size(), 1U);
    EXPECT_EQ(count, 3);
}

TEST_F(Detect, PredictGoesOnAfterAPictureThatCannotBeRead) {
    write("photos/11.png", "no image");
    const Finished said = cait(Words{"predict"} + weights() + Words{path("photos"), "--jsonl"});
    EXPECT_EQ(said.status, 1);
    EXPECT_EQ(std::ranges::count(said.out, '\n'), 2);
    EXPECT_THAT(said.err, HasSubstr("1 of 3 images could not be read"));
}

TEST_F(Detect, OptionsOfOtherTasksAreRefused) {
    const auto refused = [&](const Words& words) {
        const Finished said = cait(Words{"predict"} + weights() + Words{path(photo(0))} + words);
        EXPECT_EQ(said.status, 2);
        return said.err;
    };
    EXPECT_THAT(refused({"--flip"}), HasSubstr("--flip: expected a model that segments"));
    EXPECT_THAT(refused({"--mode", "slide"}), HasSubstr("--mode: expected a model that segments"));
    EXPECT_THAT(refused({"--tta", "flip"}), HasSubstr("--tta: expected a model that names"));
    EXPECT_THAT(refused({"--labels", path("labels")}),
                HasSubstr("--labels: expected a model that segments"));
    EXPECT_THAT(refused({"--overlays", path("photos")}), HasSubstr("expected another folder"));
    test::tiny_model(0).save(path("tiny.safetensors"));
    const Finished other = cait({"predict", "--weights", path("tiny.safetensors"), path(photo(0)),
                                 "--coco", path("found.json")});
    EXPECT_EQ(other.status, 2);
    EXPECT_THAT(other.err, HasSubstr("--coco: expected a model that detects"));
    EXPECT_FALSE(std::filesystem::exists(path("found.json")));
    const Finished side = cait(
        {"predict", "--weights", path("tiny.safetensors"), path(photo(0)), "--short-side", "64"});
    EXPECT_THAT(side.err, HasSubstr("--short-side: expected a model that segments or detects"));
}

TEST_F(Detect, ImagesAreResizedAsAsked) {
    const Finished said = cait(Words{"predict"} + weights() +
                               Words{path(photo(0)), "--json", "--threshold", "0.3", "--short-side",
                                     "96", "--long-side", "128"});
    ASSERT_EQ(said.status, 0) << said.err;
    const Detections expected =
        by_library(0, {.threshold = 0.3, .short_side = 96, .long_side = 128});
    const json objects = json::parse(said.out)[0]["objects"];
    ASSERT_EQ(objects.size(), expected.objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i)
        EXPECT_EQ(objects[i]["score"], expected.objects[i].score);
}

TEST_F(Detect, TheTrunkEmbedsAndTheFirstStageRuns) {
    const Finished embedded =
        cait(Words{"embed"} + weights() + Words{path("photos"), "--output", path("e.npy")});
    ASSERT_EQ(embedded.status, 0) << embedded.err;
    EXPECT_EQ(read_npy(path("e.npy")).shape()[0], 3);

    const Finished prepared =
        cait(Words{"preprocess"} + weights() + Words{path(photo(0)), "--output", path("x.npy")});
    ASSERT_EQ(prepared.status, 0) << prepared.err;
    const Finished forward =
        cait(Words{"forward"} + weights() +
             Words{"--input", path("x.npy"), "--output", path("y.npy"), "--tap", "objectness.2"});
    ASSERT_EQ(forward.status, 0) << forward.err;
    EXPECT_EQ(read_npy(path("y.npy")).shape(), (Shape{1, 3, 4, 4}));
    const Finished all = cait(Words{"forward"} + weights() +
                              Words{"--input", path("x.npy"), "--output", path("y.safetensors")});
    EXPECT_EQ(all.status, 0) << all.err;
    const Finished one = cait(Words{"forward"} + weights() +
                              Words{"--input", path("x.npy"), "--output", path("z.npy")});
    EXPECT_EQ(one.status, 2);
    EXPECT_THAT(one.err, HasSubstr("ends with .safetensors for 14 outputs, or one --tap"));

    const Finished bench = cait({"bench", path("objects.safetensors"), "--runs", "2"});
    EXPECT_EQ(bench.status, 0) << bench.err;
    EXPECT_THAT(bench.err, HasSubstr("first stage"));
}

TEST_F(Detect, AttentionOfATrunkOfOneSizeIsShown) {
    test::tiny_detector({.of_one_size = true}).save(path("vit.safetensors"));
    const Finished attended = cait({"attend", "--weights", path("vit.safetensors"), path(photo(0)),
                                    "--output", path("attention.png")});
    ASSERT_EQ(attended.status, 0) << attended.err;
    EXPECT_GT(read_image(path("attention.png")).width, 0);
    const Finished predicted = cait({"predict", "--weights", path("vit.safetensors"),
                                     path("photos"), "--jsonl", "--threshold", "0"});
    EXPECT_EQ(predicted.status, 0) << predicted.err;
    const Finished larger = cait(
        {"predict", "--weights", path("vit.safetensors"), path(photo(0)), "--short-side", "128"});
    EXPECT_EQ(larger.status, 2);
    EXPECT_THAT(larger.err, HasSubstr("short side: expected at most 64"));
}

TEST_F(Detect, DrawnPicturesAndMasksComeFromTheLibraryToo) {
    const Detector detector(Model::load(path("objects.safetensors")), {.threads = 1},
                            {.threshold = 0.3});
    const Detections found = detector.detect(folder_ / photo(0));
    ASSERT_FALSE(found.objects.empty());
    EXPECT_TRUE(detector.has_masks());
    EXPECT_EQ(found.mask(0).size(), std::size_t(found.width * found.height));
    detector.draw(folder_ / photo(0), found, path("drawn.png"));
    EXPECT_NE(read_image(path("drawn.png")), picture(0));
    EXPECT_THAT(
        data_test::error_of([&] { detector.draw(folder_ / photo(1), found, path("other.png")); }),
        HasSubstr("expected an image of 90x100"));
    Detections damaged = found;
    damaged.objects[0].mask.push_back(7);
    EXPECT_NE(data_test::error_of([&] { (void)damaged.mask(0); }), "");
    EXPECT_THAT(data_test::error_of([&] { (void)found.mask(found.objects.size()); }),
                HasSubstr("mask: expected one of"));
}

TEST_F(Detect, AModelOfAnotherTaskIsNoDetector) {
    EXPECT_THAT(data_test::error_of([] { Detector(test::tiny_model(0)); }),
                HasSubstr("expected a model that detects"));
}

}  // namespace
}  // namespace cait::e2e
