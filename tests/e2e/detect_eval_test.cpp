// `cait eval` of a model that detects: a made detector on made images, whose right answers are what
// the model itself finds, or that moved.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cait/evaluate.h"
#include "data/random.h"
#include "e2e/tiny_models.h"
#include "image/masks/run_mask.h"
#include "support/tiny_detector.h"
#include "support/tiny_model.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int kPictures = 3;

class DetectEval : public InFolder {
protected:
    DetectEval() {
        test::tiny_detector().save(path("objects.safetensors"));
        std::filesystem::create_directories(folder_ / "photos");
        for (int i = 0; i < kPictures; ++i)
            write_image(folder_ / fmt::format("photos/{}.png", i), picture(i));
        annotate(json::array());
    }

    static Image picture(int i) {
        RandomStream random(std::uint64_t(5 + i), "detect eval");
        Image image = Image::blank(width(i), height(i), 3);
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    image.row(y)[3 * x + c] =
                        std::uint8_t(int(random.bits() % 60) + ((x / 12 + y / 9 + c) % 3) * 90);
        return image;
    }
    static int width(int i) { return 90 + 23 * i; }
    static int height(int i) { return 100 - 11 * i; }

    // COCO's ids are neither in order nor without gaps.
    void annotate(const json& annotations) const {
        json images = json::array();
        for (int i = 0; i < kPictures; ++i)
            images.push_back({{"id", 30 - i},
                              {"file_name", fmt::format("{}.png", i)},
                              {"width", width(i)},
                              {"height", height(i)}});
        write("truth.json", json{{"images", images},
                                 {"annotations", annotations},
                                 {"categories",
                                  {{{"id", 12}, {"name", "star"}},
                                   {{"id", 7}, {"name", "circle"}},
                                   {{"id", 3}, {"name", "square"}}}}}
                                .dump());
    }
    std::string data() const { return "coco:" + path("truth.json") + "?images=" + path("photos"); }
    Words words() const {
        return {"eval", "--weights", path("objects.safetensors"), "--data", data()};
    }
    json evaluated(const Words& more = {}) const {
        const Finished said = cait(words() + Words{"--json"} + more);
        EXPECT_EQ(said.status, 0) << said.err;
        return said.status == 0 ? json::parse(said.out) : json();
    }
    // What the model finds, as annotations.
    json own_answers() const {
        evaluated({"--detections", path("found.json")});
        json annotations = json::parse(read(path("found.json")));
        EXPECT_GT(annotations.size(), 5U);
        for (json& one : annotations) {
            one["id"] = &one - &annotations[0] + 1;
            one["iscrowd"] = 0;
            one["area"] = one["bbox"][2].get<double>() * one["bbox"][3].get<double>();
            one.erase("score");
        }
        return annotations;
    }
};

// Mean over the classes of the share of the annotations whose mask has a pixel.
double share_with_mask(const json& annotations) {
    std::map<int, std::pair<double, double>> by_class;  // with one, all
    for (const json& one : annotations) {
        const json& mask = one["segmentation"];
        auto& [with, all] = by_class[one["category_id"].get<int>()];
        with += mask_of_text(mask["counts"].get<std::string>(), mask["size"][1], mask["size"][0])
                        .empty()
                    ? 0
                    : 1;
        all += 1;
    }
    double sum = 0;
    for (const auto& [category, counts] : by_class) sum += counts.first / counts.second;
    return sum / double(by_class.size());
}

TEST_F(DetectEval, WhatTheModelFindsItselfHasAPrecisionOf1) {
    const json annotations = own_answers();
    annotate(annotations);
    const json found = evaluated();
    for (const char* name : {"box_ap", "box_ap50", "box_ap75", "box_ar100"})
        EXPECT_NEAR(found.at(name).get<double>(), 1, 1e-9) << name;
    // A mask is found, or it is empty and overlaps nothing, itself included.
    EXPECT_NEAR(found["mask_ar100"].get<double>(), share_with_mask(annotations), 1e-9);
    EXPECT_GT(found["mask_ap"].get<double>(), 0.5);
    for (const char* name : {"mask_ap50", "mask_ap75"})
        EXPECT_NEAR(found.at(name).get<double>(), found["mask_ap"].get<double>(), 1e-9) << name;
    for (const char* name :
         {"ap_small", "ap_medium", "ap_large", "ar1", "ar10", "ar_small", "ar_medium", "ar_large"})
        for (const char* kind : {"box_", "mask_"})
            EXPECT_TRUE(found.contains(std::string(kind) + name)) << kind << name;
    EXPECT_EQ(found["images"], kPictures);
    EXPECT_THAT(found["preparation"].get<std::string>(), HasSubstr("short side"));
    EXPECT_FALSE(found.contains("mode"));
    ASSERT_EQ(found["per_class"].size(), 3U);
    EXPECT_EQ(found["per_class"][0]["name"], "circle");
    std::uint64_t objects = 0;
    for (const json& one : found["per_class"]) {
        EXPECT_TRUE(one.contains("box_ap") && one.contains("mask_ap"));
        objects += one["objects"].get<std::uint64_t>();
    }
    EXPECT_EQ(objects, annotations.size());
    for (const json& one : found["worst"]) EXPECT_EQ(one["f1"], 1.0);
}

TEST_F(DetectEval, ResultsHaveTheIdsOfImagesAndClassesThatTheDataHas) {
    const json first = evaluated({"--detections", path("found.json")});
    EXPECT_EQ(first["box_ap"], -1.0);  // nothing is annotated yet
    std::set<std::int64_t> images, classes;
    for (const json& one : json::parse(read(path("found.json")))) {
        images.insert(one["image_id"].get<std::int64_t>());
        classes.insert(one["category_id"].get<std::int64_t>());
        EXPECT_EQ(one["segmentation"]["size"][0], height(int(30 - one["image_id"].get<int>())));
    }
    EXPECT_THAT(images, testing::IsSubsetOf({28, 29, 30}));
    EXPECT_THAT(classes, testing::IsSubsetOf({3, 7, 12}));
    EXPECT_FALSE(images.empty());
}

TEST_F(DetectEval, WhatIsMovedIsMissed) {
    json annotations = own_answers();
    for (std::size_t i = 0; i < annotations.size(); i += 2) {
        annotations[i]["bbox"] = {1, 1, 3, 3};
        annotations[i]["area"] = 9;
        annotations[i]["segmentation"] = json::array({json::array({1, 1, 4, 1, 4, 4, 1, 4})});
    }
    annotate(annotations);
    const json found = evaluated();
    EXPECT_GT(found["box_ap"].get<double>(), 0.05);
    EXPECT_LT(found["box_ap"].get<double>(), 0.9);
    EXPECT_LT(found["mask_ap50"].get<double>(), 0.9);
    EXPECT_LE(found["worst"][0]["f1"].get<double>(), found["worst"].back()["f1"].get<double>());
    EXPECT_LT(found["worst"][0]["f1"].get<double>(), 1);
}

TEST_F(DetectEval, TheTextNamesTheScoresAndThePageShowsTheWorstImages) {
    annotate(own_answers());
    const Finished said = cait(words() + Words{"--per-class", "--report", path("report.html")});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_THAT(said.out, testing::ContainsRegex("box AP +100.00 %"));
    EXPECT_THAT(said.out, HasSubstr("mask AP75"));
    EXPECT_THAT(said.out, Not(HasSubstr("recall of 10 ")));
    EXPECT_THAT(said.out, HasSubstr("objects\n"));
    const std::string report = read(path("report.html"));
    for (const char* part : {"Precision and recall", "Worst images", "F1 at scores from",
                             "data:image/png;base64", "masks, overlap 0.75", "Each class"})
        EXPECT_THAT(report, HasSubstr(part));
}

TEST_F(DetectEval, TheLibraryMeasuresTheSame) {
    json annotations = own_answers();
    for (std::size_t i = 0; i < annotations.size(); i += 2) annotations[i]["bbox"][0] = 0;
    annotate(annotations);
    const json found = evaluated();
    const ModelEvaluation same = evaluate(Model::load(path("objects.safetensors")), data());
    EXPECT_EQ(same.scores.size(), 24U);
    for (const auto& [name, value] : same.scores)
        EXPECT_NEAR(value, found.at(name).get<double>(), 1e-6) << name;
    EXPECT_EQ(same.images, std::size_t{kPictures});
}

TEST_F(DetectEval, WithoutMasksInTheDataOnlyBoxesAreJudged) {
    json annotations = own_answers();
    for (json& one : annotations) one.erase("segmentation");
    annotate(annotations);
    const Finished said = cait(words() + Words{"--json"});
    ASSERT_EQ(said.status, 0) << said.err;
    EXPECT_THAT(said.err, HasSubstr("has no masks"));
    const json found = json::parse(said.out);
    EXPECT_NEAR(found["box_ap"].get<double>(), 1, 1e-9);
    EXPECT_FALSE(found.contains("mask_ap"));
}

TEST_F(DetectEval, WhatDoesNotFitIsRefused) {
    EXPECT_THAT(cait(words() + Words{"--predictions", path("p.csv")}).err,
                HasSubstr("--predictions: expected a model that names classes of images"));
    EXPECT_THAT(cait(words() + Words{"--tta", "flip"}).err, HasSubstr("--tta: expected"));
    EXPECT_THAT(cait(words() + Words{"--mode", "slide"}).err, HasSubstr("--mode: expected"));
    EXPECT_EQ(cait(words() + Words{"--detections", path("truth.json")}).status, 2);
    EXPECT_THAT(read(path("truth.json")), HasSubstr("categories"));
    test::tiny_model(0).save(path("tiny.safetensors"));
    std::filesystem::create_directories(folder_ / "classes/a");
    write_image(folder_ / "classes/a/1.png", picture(0));
    const Finished other = cait({"eval", "--weights", path("tiny.safetensors"), "--data",
                                 "folder:" + path("classes"), "--detections", path("f.json")});
    EXPECT_NE(other.status, 0);
    EXPECT_FALSE(std::filesystem::exists(path("f.json")));
    const Finished labels = cait(
        {"eval", "--weights", path("objects.safetensors"), "--data", "folder:" + path("classes")});
    EXPECT_NE(labels.status, 0);
}

}  // namespace
}  // namespace cait::e2e
