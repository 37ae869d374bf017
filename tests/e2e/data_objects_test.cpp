// `cait data` on data with boxes and masks.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>

#include "e2e/command.h"
#include "image/codec/decode.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataObjects : public InFolder {
protected:
    // Ten images of 64x48 pixels: image i has a small white box and, from image 5 on, a medium one
    // of another class. No label file for the first.
    std::string boxes() const {
        data_test::put(folder_ / "set/classes.txt", "platelet\ncell\n");
        for (int i = 0; i < 10; ++i) {
            const std::string name = "images/" + std::to_string(i) + ".png";
            data_test::put(folder_ / "set" / name, data_test::png(Image::blank(64, 48, 3)));
            std::string lines = "0 0.5 0.5 0.25 0.25\n";
            if (i >= 5) lines += "1 0.5 0.5 1 1\n";
            if (i > 0) data_test::put(folder_ / "set/labels" / (std::to_string(i) + ".txt"), lines);
        }
        return "yolo:" + path("set");
    }
    Finished run(std::vector<std::string> words) const {
        words.insert(words.begin(), "data");
        return cait(words);
    }
    nlohmann::json json(std::vector<std::string> words) const {
        words.emplace_back("--json");
        const Finished finished = run(words);
        EXPECT_EQ(finished.status, 0) << finished.err;
        return nlohmann::json::parse(finished.out);
    }
};

TEST_F(DataObjects, StatsCountsThemByClassAndSize) {
    const std::string uri = boxes();
    const Finished text = run({"stats", uri});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out,
                AllOf(HasSubstr("10 images with 14 objects of 2 classes"), HasSubstr("per image"),
                      HasSubstr("objects             9        5        0        0"),
                      HasSubstr("class     objects"), HasSubstr("platelet        9")));
    EXPECT_THAT(text.err, HasSubstr("1 of 10 images have no label file"));
    const nlohmann::json found = json({"stats", uri});
    EXPECT_EQ(found["objects"]["count"], 14);
    EXPECT_EQ(found["objects"]["small"], 9);
    EXPECT_EQ(found["objects"]["medium"], 5);
    EXPECT_EQ(found["objects"]["large"], 0);
    EXPECT_EQ(found["objects"]["masks"], false);
    EXPECT_EQ(found["objects"]["per_image"]["most"], 2);
    EXPECT_EQ(found["classes"][1]["name"], "cell");
    EXPECT_EQ(found["classes"][1]["objects"], 5);
    EXPECT_EQ(found["classes"][0]["images"], 9);
}

TEST_F(DataObjects, SplitWritesThemAsCoco) {
    const std::string uri = boxes();
    const nlohmann::json made = json({"split", uri, "--fraction", "0.3", "--output",
                                      path("a.json") + "," + path("b.json")})["parts"];
    EXPECT_EQ(made[0]["images"], 7);
    EXPECT_EQ(made[1]["images"], 3);
    int objects = 0;
    for (const nlohmann::json& part : made) {
        const nlohmann::json found = json({"stats", part["dataset"].get<std::string>()});
        EXPECT_EQ(found["images"], part["images"]);
        EXPECT_EQ(found["classes"][1]["name"], "cell");
        objects += found["objects"]["count"].get<int>();
    }
    EXPECT_EQ(objects, 14);
}

TEST_F(DataObjects, PreviewDrawsThem) {
    const std::string uri = boxes();
    const std::string sheet = path("sheet.png");
    const Finished plain =
        run({"preview", uri, "--augment", "none", "--count", "10", "--output", sheet});
    EXPECT_EQ(plain.status, 0) << plain.err;
    // All images are black: what is coloured was drawn.
    const auto coloured = [&] {
        const Image image = read_image(sheet);
        std::size_t count = 0;
        for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3)
            count += std::abs(image.pixels[i] - image.pixels[i + 1]) +
                                 std::abs(image.pixels[i + 1] - image.pixels[i + 2]) >
                             60
                         ? 1
                         : 0;
        return count;
    };
    EXPECT_GT(coloured(), 200U);
    const Finished varied = run({"preview", uri, "--set", "model.image_size=64", "--count", "4",
                                 "--columns", "2", "--output", sheet});
    EXPECT_EQ(varied.status, 0) << varied.err;
    EXPECT_THAT(varied.out, HasSubstr("4 tiles of 2 images at 64x64"));
    EXPECT_GT(coloured(), 100U);
}

// What is inside a mask is tinted, not only the outline of the box.
TEST_F(DataObjects, PreviewTintsMasks) {
    data_test::put(folder_ / "black.png", data_test::png(Image::blank(64, 64, 3)));
    const std::string box = R"("bbox": [8, 8, 48, 48], "area": 2304, "iscrowd": 0)";
    data_test::put(folder_ / "masks.json",
                   R"({"images": [{"id": 1, "file_name": "black.png", "width": 64, "height": 64}],
                       "categories": [{"id": 1, "name": "cell"}],
                       "annotations": [{"id": 1, "image_id": 1, "category_id": 1, )" +
                       box + R"(, "segmentation": [[8, 8, 56, 8, 56, 56, 8, 56]]}]})");
    const std::string sheet = path("masks.png");
    const Finished drawn =
        run({"preview", "coco:" + path("masks.json") + "?images=" + folder_.string(), "--set",
             "model.image_size=64", "--set", "augment.crop_first=0", "--count", "2", "--columns",
             "2", "--output", sheet});
    ASSERT_EQ(drawn.status, 0) << drawn.err;
    const Image image = read_image(sheet);
    // Left the image as it is, right a variant, which may be enlarged or mirrored.
    std::array<std::size_t, 2> tinted{};
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            const std::uint8_t* pixel = &image.pixels[std::size_t((y * image.width + x) * 3)];
            if (std::abs(pixel[0] - pixel[1]) + std::abs(pixel[1] - pixel[2]) > 40)
                ++tinted[2 * x < image.width ? 0 : 1];
        }
    EXPECT_GT(tinted[0], 1000U);  // of the 2,304; an outline has some 200
    EXPECT_GT(tinted[1], 1000U);
}

}  // namespace
}  // namespace cait::e2e
