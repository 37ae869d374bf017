// A model that detects, asked through the server: by POST /detect and by the protocol's tensors, in
// good faith and in bad.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <future>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "cait/detector.h"
#include "data/random.h"
#include "e2e/served.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/draw.h"
#include "image/masks/run_mask.h"
#include "support/tiny_detector.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ServeDetect : public Served {
protected:
    ServeDetect() {
        test::tiny_detector().save(path("things.safetensors"));
        picture_ = png_of(picture(75, 50));
    }

    static Image picture(std::int64_t width, std::int64_t height) {
        RandomStream random(7, "detect");
        Image image = Image::blank(width, height, 3);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = std::uint8_t(random.bits() % 90 + (i / 37 % 3) * 80);
        return image;
    }
    static std::string png_of(const Image& image) {
        const std::vector<std::byte> bytes = encode_png(image);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    void start_detector(const Words& more = {}) {
        start(Words{"things=" + path("things.safetensors"), "--bound", "60000"} + more);
    }
    Answer detect(const std::string& query = "", const std::string& fields = "") const {
        return ask("POST", "/detect" + query, picture_, fields);
    }
    Detections by_library(double threshold) const {
        return Detector(Model::load(path("things.safetensors")), {.threads = 1},
                        {.threshold = threshold})
            .detect(std::as_bytes(std::span(picture_)));
    }
    static std::vector<std::uint32_t> runs_of(const json& mask) {
        return mask_of_text(mask.at("counts").get<std::string>(), mask.at("size")[1],
                            mask.at("size")[0])
            .runs;
    }
    static void expect_same(const json& object, const Detection& expected) {
        EXPECT_EQ(object["label"], expected.name);
        EXPECT_EQ(object["index"], expected.index);
        EXPECT_NEAR(object["score"], expected.score, 1e-5);
        const float box[] = {expected.left, expected.top, expected.right, expected.bottom};
        for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(object["box"][i], box[i], 1e-3);
    }

    std::string picture_;
};

TEST_F(ServeDetect, AnswersWhatTheLibraryFinds) {
    start_detector();
    for (const double threshold : {0.05, 0.5}) {
        const json told = detect(fmt::format("?threshold={}", threshold)).json();
        const Detections expected = by_library(threshold);
        EXPECT_EQ(told["width"], 75);
        EXPECT_EQ(told["height"], 50);
        EXPECT_EQ(told["threshold"], threshold);
        ASSERT_EQ(told["objects"].size(), expected.objects.size());
        if (threshold < 0.5) {
            ASSERT_GE(expected.objects.size(), 3U);
        }
        std::size_t other_pixels = 0;
        for (std::size_t i = 0; i < expected.objects.size(); ++i) {
            expect_same(told["objects"][i], expected.objects[i]);
            other_pixels += runs_of(told["objects"][i]["mask"]) != expected.objects[i].mask ? 1 : 0;
            EXPECT_EQ(told["objects"][i]["colour"].size(), 3U);
        }
        EXPECT_LE(other_pixels, expected.objects.size() / 20);  // at the edge, by rounding
        EXPECT_FALSE(told.contains("masks_left_out"));
    }
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, AnswersAsMuchAsIsWanted) {
    start_detector();
    const json all = detect("?threshold=0.05").json()["objects"];
    const json some = detect("?threshold=0.05&most=2&masks=none").json()["objects"];
    ASSERT_EQ(some.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(some[i]["box"], all[i]["box"]);
        EXPECT_FALSE(some[i].contains("mask"));
    }
    EXPECT_EQ(detect("?threshold=1").json()["objects"].size(), 0U);
    const json small = detect("?threshold=0.05&masks=png").json()["objects"][0];
    EXPECT_EQ(small["mask"], all[0]["mask"]);
    EXPECT_THAT(small["png"].get<std::string>(), testing::StartsWith("data:image/png;base64,"));
    for (const Answer& shown :
         {detect("?threshold=0.05&as=overlay"), detect("?threshold=0.05", "Accept: image/png\r\n"),
          detect("?threshold=0.05&as=overlay&masks=none")}) {
        ASSERT_EQ(shown.status, 200) << shown.body;
        const Image seen = decode_image(std::as_bytes(std::span(shown.body)), "overlay");
        EXPECT_EQ(seen.width, 4 * 75);  // small ones are enlarged
        EXPECT_EQ(seen.height, 4 * 50);
        const Image plain = scaled(picture(75, 50), 4 * 75, 4 * 50, Scaling::smooth);
        EXPECT_NE(seen.pixels, plain.pixels);
    }
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, GivesTensorsOfOneSize) {
    start_detector();
    const json model = json::parse(ask("GET", "/v2/models/things").body);
    std::vector<std::string> outputs;
    for (const json& output : model["outputs"])
        outputs.push_back(output["name"].get<std::string>() + " " +
                          output["datatype"].get<std::string>() + " " + output["shape"].dump());
    EXPECT_THAT(outputs,
                ElementsAre("boxes FP32 [-1,100,4]", "scores FP32 [-1,100]",
                            "labels INT64 [-1,100]", "counts INT64 [-1]", "masks BYTES [-1,100]"));
    EXPECT_EQ(json::parse(ask("GET", "/v2/models/things/config").body)["output"][4]["data_type"],
              "TYPE_STRING");
    const std::string other = png_of(picture(64, 64));
    json wanted{{"inputs",
                 {{{"name", "encoded"},
                   {"datatype", "BYTES"},
                   {"shape", {2}},
                   {"data",
                    {base64(std::as_bytes(std::span(picture_))),
                     base64(std::as_bytes(std::span(other)))}}}}}};
    const json usual = ask("POST", "/v2/models/things/infer", wanted.dump()).json();
    ASSERT_EQ(usual["outputs"].size(), 4U) << usual;  // without masks
    wanted["outputs"] = json::array({{{"name", "masks"}},
                                     {{"name", "counts"}},
                                     {{"name", "boxes"}},
                                     {{"name", "scores"}},
                                     {{"name", "labels"}}});
    const json told = ask("POST", "/v2/models/things/infer", wanted.dump()).json()["outputs"];
    const auto values = [&](std::size_t i) { return told[i]["data"]; };
    EXPECT_EQ(told[2]["shape"], json({2, 100, 4}));
    const Detections expected = by_library(0.05);
    ASSERT_EQ(values(1)[0], expected.objects.size());
    for (std::size_t i = 0; i < 100; ++i) {
        const bool there = i < expected.objects.size();
        EXPECT_EQ(values(4)[i], there ? std::int64_t(expected.objects[i].index) : -1);
        EXPECT_NEAR(values(3)[i], there ? expected.objects[i].score : 0, 1e-5);
        EXPECT_NEAR(values(2)[4 * i + 3], there ? expected.objects[i].bottom : 0, 1e-3);
        EXPECT_EQ(values(0)[i].get<std::string>().empty(), !there);
    }
    // The second image is its own: what it has alone.
    const json alone = ask("POST", "/detect?threshold=0.05", other).json()["objects"];
    ASSERT_EQ(values(1)[1], alone.size());
    EXPECT_NEAR(values(2)[400], alone[0]["box"][0], 1e-3);
    EXPECT_EQ(values(0)[100], alone[0]["mask"]["counts"]);
    const json stats = json::parse(ask("GET", "/v2/models/things/stats").body)["model_stats"][0];
    EXPECT_EQ(stats["inference_count"], 5);
    EXPECT_EQ(json::parse(ask("GET", "/stats").body)["models"][0]["task"], "detect");
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, TakesPreparedPixelsAndGivesBinaryTensors) {
    start_detector();
    json wanted{{"inputs",
                 {{{"name", "images"},
                   {"datatype", "FP32"},
                   {"shape", {1, 3, 64, 64}},
                   {"data", std::vector<float>(3 * 64 * 64, 0.25F)}}}},
                {"parameters", {{"binary_data_output", true}}}};
    const Answer binary = ask("POST", "/v2/models/things/infer", wanted.dump());
    ASSERT_EQ(binary.status, 200) << binary.body;
    const auto head = std::stoul(binary.fields.at("inference-header-content-length"));
    EXPECT_EQ(binary.body.size(), head + 100 * (4 * 4 + 4 + 8) + 8);
    const json described = json::parse(binary.body.substr(0, head));
    for (const json& output : described["outputs"])
        EXPECT_TRUE(output["parameters"].contains("binary_data_size"));
    // A body without any JSON is a file.
    const Answer raw =
        ask("POST", "/v2/models/things/infer", picture_, "Inference-Header-Content-Length: 0\r\n");
    EXPECT_EQ(raw.status, 200);
    // Pixels that overflow are the client's fault.
    wanted["inputs"][0]["data"] = std::vector<float>(3 * 64 * 64, 3e38F);
    const Answer large = ask("POST", "/v2/models/things/infer", wanted.dump());
    EXPECT_EQ(large.status, 400) << large.body;
    wanted["inputs"][0]["shape"] = {1, 3, 64, 32};
    EXPECT_EQ(ask("POST", "/v2/models/things/infer", wanted.dump()).status, 400);
    wanted["outputs"] = {{{"name", "pyramid.0"}}};
    EXPECT_EQ(ask("POST", "/v2/models/things/infer", wanted.dump()).status, 400);
    wanted["outputs"] = {{{"name", "scores"}, {"parameters", {{"classification", 3}}}}};
    EXPECT_EQ(ask("POST", "/v2/models/things/infer", wanted.dump()).status, 400);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, RefusesWhatItCannotMean) {
    start_detector();
    for (const char* query :
         {"threshold=nan", "threshold=inf", "threshold=1e308", "threshold=-1", "threshold=0.01",
          "threshold=", "most=0", "most=101", "most=1000000000", "most=-1",
          "most=99999999999999999999", "masks=all", "as=text", "as=labels", "top=3"}) {
        const Answer refused = detect(std::string("?") + query);
        EXPECT_EQ(refused.status, 400) << query;
        EXPECT_THAT(refused.error(), HasSubstr("expected")) << query;
    }
    EXPECT_EQ(ask("POST", "/detect", "no image").status, 422);
    EXPECT_EQ(ask("POST", "/detect", "").status, 400);
    EXPECT_EQ(ask("POST", "/detect?model=other", picture_).status, 404);
    EXPECT_EQ(ask("GET", "/detect").status, 405);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, ImagesOfAnyAspectAreImages) {
    start_detector();
    for (const auto& [width, height] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 3000}, {3000, 1}, {3, 700}}) {
        const std::string body = png_of(picture(width, height));
        for (const char* query :
             {"?threshold=0.05", "?threshold=0.05&masks=png", "?threshold=0.05&as=overlay"}) {
            const Answer told = ask("POST", std::string("/detect") + query, body);
            EXPECT_EQ(told.status, 200) << width << " x " << height << query << told.body;
        }
    }
    // A hundred masks of so many pixels would take nobody knows how long.
    const std::string large = png_of(Image::blank(6000, 4000, 1));
    const Answer refused = ask("POST", "/detect", large);
    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.error(), HasSubstr("fewer objects, or without masks"));
    for (const char* query : {"?most=20", "?masks=none"})
        EXPECT_EQ(ask("POST", std::string("/detect") + query, large).status, 200) << query;
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, AModelIsAskedForItsOwnTask) {
    start_detector({"plain=" + path("tiny.safetensors")});
    for (const char* target : {"/classify", "/segment"})
        EXPECT_EQ(ask("POST", target, picture_).status, 400) << target;
    EXPECT_THAT(ask("POST", "/classify", picture_).error(), HasSubstr("POST /detect"));
    EXPECT_THAT(detect("?model=plain").error(), HasSubstr("model plain: it finds no objects"));
    EXPECT_EQ(ask("POST", "/classify?model=plain", picture_).status, 200);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, ManyAskAtTheSameTime) {
    start_detector({"plain=" + path("tiny.safetensors")});
    const json expected = detect("?threshold=0.05").json();
    std::vector<std::future<Answer>> asked;
    for (int i = 0; i < 24; ++i)
        asked.push_back(std::async(std::launch::async, [this, i] {
            return i % 3 == 0 ? ask("POST", "/classify?model=plain", picture_)
                              : detect("?threshold=0.05");
        }));
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Answer answer = asked[i].get();
        ASSERT_EQ(answer.status, 200) << answer.body;
        if (i % 3 == 0) continue;
        const json told = answer.json();
        ASSERT_EQ(told["objects"].size(), expected["objects"].size());
        for (std::size_t k = 0; k < told["objects"].size(); ++k)
            EXPECT_NEAR(told["objects"][k]["score"], expected["objects"][k]["score"], 1e-4);
    }
    const json stats = json::parse(ask("GET", "/stats").body);
    EXPECT_EQ(stats["pending"], 0);
    EXPECT_EQ(stats["faults"], 0);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, ADetectorWithoutMasksHasNone) {
    test::tiny_detector({.masks = false}).save(path("boxes.safetensors"));
    start({"boxes=" + path("boxes.safetensors"), "--bound", "60000"});
    const json told = detect("?threshold=0.05&masks=png").json();
    ASSERT_GT(told["objects"].size(), 0U);
    EXPECT_FALSE(told["objects"][0].contains("mask"));
    EXPECT_FALSE(told["objects"][0].contains("png"));
    EXPECT_EQ(json::parse(ask("GET", "/v2/models/boxes").body)["outputs"].size(), 4U);
    EXPECT_EQ(detect("?as=overlay").status, 200);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeDetect, StopsWithoutFinishingWhatNobodyWaitsFor) {
    start_detector({"--patience", "1"});
    {
        std::vector<HttpClient> leaving;
        for (int i = 0; i < 8; ++i) {
            leaving.push_back(client());
            leaving.back().send(
                fmt::format("POST /detect?threshold=0.05 HTTP/1.1\r\nHost: "
                            "localhost\r\nContent-Length: {}\r\n\r\n{}",
                            picture_.size(), picture_));
        }
    }
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace cait::e2e
