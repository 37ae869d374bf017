// A model that segments, asked through every program: label images of any size, by the command, the
// server and C++, and its scores.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cait/segmenter.h"
#include "data/random.h"
#include "e2e/served.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/palette.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Segment : public Served {
protected:
    Segment() {
        Model made = Model::create("deit_tiny_patch16_224",
                                   {{"image_size", "32"},
                                    {"patch", "8"},
                                    {"dim", "16"},
                                    {"depth", "2"},
                                    {"heads", "2"},
                                    {"classes", "0"}},
                                   3)
                         .with_head({{"head.kind", "linear_map"}, {"head.classes", "3"}}, 5);
        made.set_classes({"road", "sky", "car"});
        Task task = made.task();
        task.colours = {{200, 10, 10}, {10, 200, 10}, {10, 10, 200}};
        made.set_task(task);
        made.save(path("segments.safetensors"));
        for (const char* folder : {"photos", "data/images", "data/labels"})
            std::filesystem::create_directories(folder_ / folder);
        for (int i = 0; i < 3; ++i) write_image(folder_ / photo(i), picture(i));
    }

    static std::string photo(int i) { return fmt::format("photos/{}.png", i); }
    // Of different sizes; noise, so that some classes are seen.
    static Image picture(int i) {
        RandomStream random(7, "segment");
        Image image = Image::blank(50 + 13 * i, 40 + 5 * i, 3);
        for (std::int64_t y = 0; y < image.height; ++y)
            for (std::int64_t x = 0; x < image.width; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    image.row(y)[3 * x + c] =
                        std::uint8_t(int(random.bits() % 60) + ((x / 12 + y / 9 + c) % 3) * 90);
        return image;
    }
    Segmentation by_library(int i, SegmenterOptions options = {}) const {
        return Segmenter(Model::load(path("segments.safetensors")), {.threads = 1}, options)
            .segment(folder_ / photo(i));
    }
    // A data set whose labels are what the model says, but for the first row, which is unlabelled.
    void label_by_model() const {
        for (int i = 0; i < 3; ++i) {
            Segmentation found = by_library(i);
            std::fill_n(found.labels.begin(), found.width, std::uint8_t{255});
            const std::vector<Colour> palette = class_colours({}, 3);
            const auto png =
                encode_palette_png({found.width, found.height, 1, found.labels}, palette);
            data_test::put(folder_ / fmt::format("data/labels/{}.png", i),
                           std::string(reinterpret_cast<const char*>(png.data()), png.size()));
            std::filesystem::copy_file(folder_ / photo(i),
                                       folder_ / fmt::format("data/images/{}.png", i));
        }
        write("classes.txt", "road\nsky\ncar\n");
    }
    std::string labelled() const {
        return "segmentation:" + path("data") + "?classes=" + path("classes.txt");
    }
    Words weights() const { return {"--weights", path("segments.safetensors")}; }
};

TEST_F(Segment, PredictWritesLabelImagesOverlaysAndAreas) {
    const Finished said = cait(
        Words{"predict"} + weights() +
        Words{path("photos"), "--json", "--labels", path("labels"), "--overlays", path("shown")});
    ASSERT_EQ(said.status, 0) << said.err;
    const json answers = json::parse(said.out);
    ASSERT_EQ(answers.size(), 3U);
    for (int i = 0; i < 3; ++i) {
        const Segmentation expected = by_library(i);
        EXPECT_EQ(answers[std::size_t(i)]["width"], expected.width);
        std::uint64_t pixels = 0;
        for (const json& area : answers[std::size_t(i)]["areas"]) {
            EXPECT_EQ(area["pixels"], expected.areas[area["index"].get<std::size_t>()]);
            pixels += area["pixels"].get<std::uint64_t>();
        }
        EXPECT_EQ(pixels, expected.labels.size());
        // In the colours of the model's classes.
        const Image labels = read_image(folder_ / fmt::format("labels/{}.png", i));
        const std::uint8_t first = expected.labels[0];
        EXPECT_EQ(labels.pixels[first], 200);
        EXPECT_EQ(labels.width, expected.width);
        EXPECT_GT(read_image(folder_ / fmt::format("shown/{}.png", i)).height, expected.height);
    }
    const Finished lines = cait(Words{"predict"} + weights() + Words{path(photo(0))});
    EXPECT_THAT(lines.out,
                testing::AnyOf(HasSubstr("road "), HasSubstr("sky "), HasSubstr("car ")));
    const Finished csv = cait(Words{"predict"} + weights() + Words{path("photos"), "--csv"});
    EXPECT_THAT(csv.out, HasSubstr("image,class,index,pixels,share\n"));
}

TEST_F(Segment, PredictKeepsItsInputsAndSaysWhatItCannotDo) {
    const Finished same =
        cait(Words{"predict"} + weights() + Words{path("photos"), "--labels", path("photos")});
    EXPECT_NE(same.status, 0);
    EXPECT_THAT(same.err, HasSubstr("expected another folder"));
    const Finished other =
        cait({"predict", "--weights", path("tiny.safetensors"), "--flip", path(photo(0))});
    EXPECT_EQ(other.status, 2);
    EXPECT_THAT(other.err, HasSubstr("--flip: expected a model that segments"));
    const Finished window =
        cait(Words{"predict"} + weights() + Words{path(photo(0)), "--window", "16"});
    EXPECT_EQ(window.status, 2);
    EXPECT_THAT(window.err, HasSubstr("--mode slide"));
}

TEST_F(Segment, EvalGivesTheNamesThatScriptsRelyOn) {
    label_by_model();
    const Finished said = cait(Words{"eval"} + weights() + Words{"--data", labelled(), "--json"});
    ASSERT_EQ(said.status, 0) << said.err;
    const json found = json::parse(said.out);
    EXPECT_EQ(found["miou"], 1.0);
    EXPECT_EQ(found["macc"], 1.0);
    EXPECT_EQ(found["aacc"], 1.0);
    EXPECT_EQ(found["images"], 3);
    EXPECT_EQ(found["mode"], "whole");
    ASSERT_EQ(found["per_class"].size(), 3U);
    std::uint64_t pixels = 0, all = 0;
    for (const json& one : found["per_class"]) {
        EXPECT_TRUE(one.contains("name") && one.contains("iou") && one.contains("accuracy"));
        pixels += one["pixels"].get<std::uint64_t>();
    }
    for (int i = 0; i < 3; ++i) all += std::uint64_t((50 + 13 * i) * (40 + 5 * i - 1));
    EXPECT_EQ(pixels, all);  // but for the unlabelled rows
    // Windows see something else than the whole image.
    const Finished windows =
        cait(Words{"eval"} + weights() +
             Words{"--data", labelled(), "--json", "--mode", "slide", "--short-side", "48",
                   "--scales", "0.75,1", "--flip", "--report", path("report.html")});
    ASSERT_EQ(windows.status, 0) << windows.err;
    const json other = json::parse(windows.out);
    EXPECT_LT(other["miou"].get<double>(), 1.0);
    EXPECT_EQ(other["mode"], "slide");
    const std::string report = read(path("report.html"));
    EXPECT_THAT(report, HasSubstr("Worst images"));
    EXPECT_THAT(report, HasSubstr("rgb(200,10,10)"));
}

TEST_F(Segment, ServedImagesGetLabelsOverlayAndJson) {
    start({"streets=" + path("segments.safetensors")});
    const std::string body = read(path(photo(1)));
    const Segmentation expected = by_library(1, {.slide = true});
    const json told = json::parse(ask("POST", "/segment", body).body);
    EXPECT_EQ(told["width"], expected.width);
    for (const json& area : told["areas"])
        EXPECT_EQ(area["pixels"], expected.areas[area["index"].get<std::size_t>()]);
    const Answer labels = ask("POST", "/segment", body, "Accept: image/png\r\n");
    ASSERT_EQ(labels.status, 200);
    const Image seen = decode_image(std::as_bytes(std::span(labels.body)), "labels");
    EXPECT_EQ(seen.pixels[expected.labels[0]], 200);
    const Answer shown = ask("POST", "/segment?as=overlay", body);
    EXPECT_EQ(decode_image(std::as_bytes(std::span(shown.body)), "overlay").width, expected.width);
    EXPECT_EQ(ask("POST", "/segment?as=text", body).status, 400);
    EXPECT_EQ(ask("POST", "/segment", "no image").status, 422);
    EXPECT_EQ(ask("POST", "/classify", body).status, 400);
    const json model = json::parse(ask("GET", "/v2/models/streets").body);
    EXPECT_EQ(model["outputs"][0]["name"], "segmentation");
    EXPECT_EQ(json::parse(ask("GET", "/stats").body)["models"][0]["task"], "segment");
    EXPECT_EQ(stop(), 0);
}

TEST_F(Segment, AClassifierDoesNotSegment) {
    start();
    EXPECT_EQ(ask("POST", "/segment", photo_).status, 400);
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace cait::e2e
