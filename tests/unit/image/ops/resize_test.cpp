#include "image/ops/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "image/ops/flip.h"
#include "image/ops/resize_kernels.h"
#include "support/case_count.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using test::picture;

// Words: resize FILTER SOURCE CHANNELS RESULT [box LEFT TOP RIGHT BOTTOM].
TEST(Resize, EqualsPillow) {
    test::CaseCount count(60);
    for (const test::Golden& golden : test::golden(test::image_data(), "resize")) {
        ++count;
        const auto [width, height] = test::sizes(golden.words[2]);
        const auto [out_width, out_height] = test::sizes(golden.words[4]);
        std::optional<Box> box;
        if (golden.words.size() > 5)
            box = Box{std::stod(golden.words[6]), std::stod(golden.words[7]),
                      std::stod(golden.words[8]), std::stod(golden.words[9])};
        const Image found = resize(picture(width, height, std::stoll(golden.words[3])), out_width,
                                   out_height, parse_filter(golden.words[1]), box);
        EXPECT_EQ(found, golden.image()) << golden.name();
    }
}

TEST(Resize, VectorKernelsGiveTheBytesOfThePortableOnes) {
    if (!avx2_resize_available()) GTEST_SKIP() << "no AVX2 here";
    const ResizeKernels portable = portable_resize_kernels();
    const ResizeKernels vector = avx2_resize_kernels();
    for (const std::int64_t width : {1, 2, 5, 16, 33, 100}) {
        for (const std::int64_t outputs : {1, 3, 7, 64, 130}) {
            for (const bool mirror : {false, true}) {
                const Image source = picture(width, 11, 3);
                ResizeWeights weights;
                weights.compute(width, 0, float(width), outputs, 0, outputs, Filter::lanczos);
                Image a = Image::blank(outputs, 11, 3);
                Image b = a;
                portable.horizontal(source, weights, mirror, a.pixels.data(), outputs * 3);
                vector.horizontal(source, weights, mirror, b.pixels.data(), outputs * 3);
                EXPECT_EQ(a, b) << width << " -> " << outputs;

                const Image tall = picture(21, width, 3);
                Image c = Image::blank(21, outputs, 3);
                Image d = c;
                portable.vertical(tall.pixels.data(), 0, 63, weights, c.pixels.data());
                vector.vertical(tall.pixels.data(), 0, 63, weights, d.pixels.data());
                EXPECT_EQ(c, d) << width << " -> " << outputs;
            }
        }
    }
}

TEST(Resize, PartEqualsACropOfTheWhole) {
    const Image source = picture(50, 37, 3);
    ResizeWorkspace workspace;
    for (const auto& [width, height] : {std::pair{31, 29}, {90, 37}, {50, 80}, {50, 37}}) {
        const Image whole = resize(source, width, height, Filter::bicubic);
        Image part;
        resize(source, {width, height, 7, 5, 20, 21}, Filter::bicubic, false, part, workspace);
        for (std::int64_t y = 0; y < 21; ++y)
            EXPECT_TRUE(std::equal(part.row(y), part.row(y) + 60, whole.row(y + 5) + 21));
    }
}

TEST(Resize, MirrorsWhileItResizes) {
    const Image source = picture(50, 37, 3);
    ResizeWorkspace workspace;
    for (const auto& [width, height] : {std::pair{31, 29}, {50, 20}, {80, 37}, {1, 1}}) {
        Image expected = resize(source, width, height, Filter::bilinear);
        flip_horizontally(expected);
        Image found;
        resize(source, ResizeTarget::whole(width, height), Filter::bilinear, true, found,
               workspace);
        EXPECT_EQ(found, expected) << width << "x" << height;
    }
}

TEST(Resize, AViewHidesWhatIsAroundIt) {
    const Image source = picture(50, 37, 3);
    Image cut = Image::blank(20, 15, 3);
    for (std::int64_t y = 0; y < 15; ++y) std::copy_n(source.row(y + 4) + 27, 60, cut.row(y));
    ResizeWorkspace workspace;
    Image found;
    resize(ImageView(source).part(9, 4, 20, 15), ResizeTarget::whole(33, 7), Filter::bicubic, false,
           found, workspace);
    EXPECT_EQ(found, resize(cut, 33, 7, Filter::bicubic));
}

TEST(Resize, KeepsAFlatColour) {
    Image flat = Image::blank(37, 23, 3);
    std::fill(flat.pixels.begin(), flat.pixels.end(), std::uint8_t(201));
    for (const Filter filter : {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos})
        EXPECT_THAT(resize(flat, 11, 50, filter).pixels, testing::Each(201)) << filter_name(filter);
}

TEST(Resize, RefusesSizesAndBoxesThatMakeNoSense) {
    const Image source = picture(8, 6, 3);
    EXPECT_THROW(resize(source, 0, 3, Filter::box), Error);
    EXPECT_THROW(resize(source, 3, -1, Filter::box), Error);
    EXPECT_THROW(resize(Image{}, 3, 3, Filter::box), Error);
    EXPECT_THROW(resize(source, 3, 3, Filter::box, Box{0, 0, 9, 6}), Error);
    EXPECT_THROW(resize(source, 3, 3, Filter::box, Box{4, 0, 4, 6}), Error);
    EXPECT_THROW(parse_filter("nearest"), UsageError);
}

}  // namespace
}  // namespace cait
