// What is to equal OpenCV, held to its stored results.
#include <gtest/gtest.h>
#include <zlib.h>

#include "cait/error.h"
#include "image/ops/bilinear.h"
#include "image/ops/photometric.h"
#include "support/case_count.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

std::filesystem::path opencv_data() {
    return test::source_path(__FILE__).parent_path().parent_path().parent_path() /
           "data/data/segmentation.safetensors";
}

TEST(Bilinear, EqualsOpencv) {
    BilinearWorkspace workspace;
    Image found;
    test::CaseCount cases(20);
    for (const test::Golden& golden : test::golden(opencv_data(), "bilinear")) {
        const auto [width, height] = test::sizes(golden.words[1]);
        const auto [new_width, new_height] = test::sizes(golden.words[3]);
        resize_bilinear(picture(width, height, std::stoll(golden.words[2])),
                        ResizeTarget::whole(new_width, new_height), false, found, workspace);
        EXPECT_EQ(found, golden.image()) << golden.name();
        ++cases;
    }
}

TEST(Bilinear, GivesAPartOfTheWholeAndItsMirrorImage) {
    const Image source = picture(40, 30, 3);
    BilinearWorkspace workspace;
    Image whole, part, mirrored;
    resize_bilinear(source, ResizeTarget::whole(61, 47), false, whole, workspace);
    resize_bilinear(source, {61, 47, 13, 5, 20, 33}, false, part, workspace);
    resize_bilinear(source, {61, 47, 13, 5, 20, 33}, true, mirrored, workspace);
    ASSERT_EQ(part.width, 20);
    for (std::int64_t y = 0; y < 33; ++y)
        for (std::int64_t x = 0; x < 20; ++x)
            for (std::int64_t c = 0; c < 3; ++c) {
                ASSERT_EQ(part.row(y)[3 * x + c], whole.row(y + 5)[3 * (x + 13) + c]);
                ASSERT_EQ(part.row(y)[3 * x + c], mirrored.row(y)[3 * (19 - x) + c]);
            }
    EXPECT_THROW(resize_bilinear(source, {61, 47, 50, 5, 20, 33}, false, part, workspace), Error);
}

TEST(NearestPlaces, AreThoseOfOpencv) {
    test::CaseCount cases(10);
    for (const test::Golden& golden : test::golden(opencv_data(), "nearest")) {
        const auto [width, height] = test::sizes(golden.words[1]);
        const auto [new_width, new_height] = test::sizes(golden.words[3]);
        const Image source = picture(width, height, 1);
        std::vector<std::int32_t> across, down;
        nearest_places(width, new_width, 0, new_width, across);
        nearest_places(height, new_height, 0, new_height, down);
        Image found = Image::blank(new_width, new_height, 1);
        for (std::int64_t y = 0; y < new_height; ++y)
            for (std::int64_t x = 0; x < new_width; ++x)
                found.row(y)[x] = source.row(down[std::size_t(y)])[across[std::size_t(x)]] % 5;
        EXPECT_EQ(found, golden.image()) << golden.name();
        ++cases;
    }
}

TEST(Photometric, EqualsOpencv) {
    test::CaseCount cases(13);
    for (const std::string kind : {"brightness", "contrast", "saturation", "hue"})
        for (const test::Golden& golden : test::golden(opencv_data(), kind)) {
            if (golden.words.size() > 2) continue;  // the checksum below
            const double amount = std::stod(golden.words[1]);
            Image image = picture(64, 20, 3);
            if (kind == "brightness") scale_values(image, 1, amount);
            if (kind == "contrast") scale_values(image, amount, 0);
            if (kind == "saturation") scale_saturation(image, amount);
            if (kind == "hue") turn_hue(image, int(amount));
            EXPECT_EQ(image, golden.image()) << golden.name();
            ++cases;
        }
}

TEST(Photometric, TurnsAllColoursAsOpencvDoes) {
    Image image = Image::blank(4096, 4096, 3);
    for (std::size_t i = 0; i < image.pixels.size() / 3; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            image.pixels[3 * i + c] = std::uint8_t(i >> (16 - 8 * c));
    turn_hue(image, 11);
    test::CaseCount cases(1);
    for (const test::Golden& golden : test::golden(opencv_data(), "hue")) {
        if (golden.words.size() == 2) continue;
        EXPECT_EQ(std::int64_t(crc32(0, image.pixels.data(), uInt(image.pixels.size()))),
                  golden.numbers<std::int64_t>()[0]);
        ++cases;
    }
}

}  // namespace
}  // namespace cait
