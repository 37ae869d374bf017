#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "image/ops/affine.h"
#include "image/ops/blur.h"
#include "image/ops/enhance.h"
#include "image/ops/flip.h"
#include "image/ops/point_ops.h"
#include "support/case_count.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

constexpr Colour kFill{124, 116, 104};

Interpolation lookup(const std::string& name) {
    if (name == "nearest") return Interpolation::nearest;
    return name == "bilinear" ? Interpolation::bilinear : Interpolation::bicubic;
}

using Plain = std::function<void(Image&, double)>;
const std::map<std::string, Plain> kPlain{
    {"autocontrast", [](Image& image, double) { autocontrast(image); }},
    {"equalize", [](Image& image, double) { equalize(image); }},
    {"invert", [](Image& image, double) { invert(image); }},
    {"posterize", [](Image& image, double value) { posterize(image, int(value)); }},
    {"solarize", [](Image& image, double value) { solarize(image, value); }},
    {"solarize_add", [](Image& image, double value) { solarize_add(image, int(value)); }},
    {"colour", adjust_colour},
    {"contrast", adjust_contrast},
    {"brightness", adjust_brightness},
    {"sharpness",
     [](Image& image, double value) {
         std::vector<std::uint8_t> memory;
         adjust_sharpness(image, value, memory);
     }},
    {"blur",
     [](Image& image, double value) {
         BlurWorkspace memory;
         gaussian_blur(image, value, memory);
     }},
    {"grey", [](Image& image, double) { make_grey(image); }},
    {"hue", adjust_hue},
    {"flip", [](Image& image, double) { flip_horizontally(image); }},
};

using Geometric = std::function<AffineMap(const Image&, double)>;
const std::map<std::string, Geometric> kGeometric{
    {"rotate", [](const Image& i, double value) { return rotation(value, i.width, i.height); }},
    {"shear_x", [](const Image&, double value) { return AffineMap{.xy = value}; }},
    {"shear_y", [](const Image&, double value) { return AffineMap{.yx = value}; }},
    {"translate_x", [](const Image&, double value) { return AffineMap{.x0 = value}; }},
    {"translate_y", [](const Image&, double value) { return AffineMap{.y0 = value}; }},
};

// Words: OPERATION ARGUMENT INTERPOLATION SIZE CHANNELS.
TEST(Operations, EqualPillow) {
    test::CaseCount exact(54), close(52);
    for (const test::Golden& golden : test::golden(test::image_data())) {
        if (golden.words.front() == "resize") continue;
        const auto [width, height] = test::sizes(golden.words[3]);
        Image image = picture(width, height, std::stoll(golden.words[4]));
        double value = std::stod(golden.words[1]);
        std::string name = golden.words[0];
        if (const auto plain = kPlain.find(name); plain != kPlain.end()) {
            plain->second(image, value);
            EXPECT_EQ(image, golden.image()) << golden.name();
            ++exact;
            continue;
        }
        if (name.ends_with("_share")) {
            name.resize(name.size() - 6);
            value *= double(name == "translate_x" ? width : height);
        }
        const Interpolation how = lookup(golden.words[2]);
        AffineWorkspace memory;
        transform(image, kGeometric.at(name)(image, value), how, kFill, memory);
        const test::Difference difference = test::compare(image, golden.image());
        EXPECT_LE(difference.most, how == Interpolation::nearest ? 0 : 1) << golden.name();
        EXPECT_GE(difference.equal_share, 0.98) << golden.name();
        ++close;
    }
}

TEST(Operations, AFactorOfOneChangesNothing) {
    const Image before = picture(23, 17, 3);
    std::vector<std::uint8_t> rows;
    Image image = before;
    adjust_colour(image, 1);
    adjust_contrast(image, 1);
    adjust_brightness(image, 1);
    adjust_sharpness(image, 1, rows);
    EXPECT_EQ(image, before);
}

TEST(Operations, TwiceMirroredIsTheImage) {
    for (const std::int64_t channels : {1, 3}) {
        for (const std::int64_t width : {1, 2, 3, 8}) {
            const Image before = picture(width, 5, channels);
            Image image = before;
            flip_horizontally(image);
            for (std::int64_t y = 0; y < 5; ++y) {
                std::vector<std::uint8_t> row(std::size_t(width * channels));
                mirror_row(before.row(y), width, channels, row.data());
                EXPECT_TRUE(std::equal(row.begin(), row.end(), image.row(y)));
            }
            flip_horizontally(image);
            EXPECT_EQ(image, before);
        }
    }
}

TEST(Operations, PosteriseToNoBitsIsBlack) {
    Image image = picture(5, 5, 3);
    posterize(image, 0);
    EXPECT_THAT(image.pixels, testing::Each(0));
    Image kept = picture(5, 5, 3);
    posterize(kept, 8);
    EXPECT_EQ(kept, picture(5, 5, 3));
}

TEST(Operations, SurviveTheSmallestImages) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 7}, {2, 2}, {9, 1}}) {
        Image image = picture(width, height, 3);
        BlurWorkspace blur;
        AffineWorkspace memory;
        std::vector<std::uint8_t> rows;
        gaussian_blur(image, 3, blur);
        adjust_sharpness(image, 0.1, rows);
        equalize(image);
        autocontrast(image);
        for (const Interpolation how :
             {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic}) {
            for (const AffineMap& from :
                 {rotation(30, image.width, image.height), AffineMap{.xy = 0.5},
                  AffineMap{.yx = -0.5}, AffineMap{.x0 = 0.4}, AffineMap{.y0 = -100}})
                transform(image, from, how, kFill, memory);
        }
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            EXPECT_EQ(image.pixels[i], kFill[i % 3]) << "all of it was moved away";
    }
}

}  // namespace
}  // namespace cait
