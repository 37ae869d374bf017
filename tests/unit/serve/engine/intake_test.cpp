#include "serve/engine/intake.h"

#include "support/broken_images.h"
#include "unit/data/support.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using test::solid_webp;
using testing::HasSubstr;

class IntakeTest : public testing::Test {
protected:
    Intake intake(double left = 10) {
        return {time_,
                {.pixels = {1'000'000, 2'000'000},
                 .left = left,
                 .stop = [this] { return stop_; },
                 .grow =
                     [this](std::size_t images, double decoding) {
                         images_ = images;
                         decoding_ = decoding;
                     }}};
    }

    DecodeTime time_;
    bool stop_ = false;
    std::size_t images_ = 0;
    double decoding_ = 0;
};

TEST_F(IntakeTest, PixelsOfAnImageHaveALimit) {
    EXPECT_EQ(refusal_of([&] { intake().admit(solid_webp(1000, 1000)); }).status, 0);
    const Refusal photo = refusal_of([&] { intake().admit(solid_webp(1001, 1000)); });
    EXPECT_EQ(photo.status, 413);
    EXPECT_EQ(photo.text, "image: expected at most 1000000 pixels, found 1001x1000");
    const std::vector<std::string> files{solid_webp(10, 10), solid_webp(1, 1'001) /* fits */,
                                         solid_webp(16'000, 16'000)};
    EXPECT_THAT(refusal_of([&] { intake().admit(files); }).text,
                HasSubstr("image 2: expected at most 1000000 pixels, found 16000x16000"));
    // What a header may promise at most.
    std::string png = data_test::png(data_test::numbered_image(7, 60, 40));
    for (const std::size_t at : {16, 20}) png.replace(at, 4, std::string("\x7f\xff\xff\xff", 4));
    EXPECT_EQ(refusal_of([&] { intake().admit(png); }).status, 413);
    EXPECT_THROW(intake().admit(std::string("no image")), ImageError);
}

TEST_F(IntakeTest, SoHaveThoseOfARequest) {
    std::vector<std::string> files(4, solid_webp(1000, 500));
    EXPECT_EQ(refusal_of([&] { intake().admit(files); }).status, 0);
    EXPECT_EQ(images_, 4U);
    files.push_back(solid_webp(1, 1));
    const Refusal refused = refusal_of([&] { intake().admit(files); });
    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.text, HasSubstr("expected at most 2000000 pixels in all images of a "
                                        "request, found 2000001"));
}

TEST_F(IntakeTest, TheTimeOfDecodingIsKnownBefore) {
    intake().admit(std::vector<std::string>(2, solid_webp(1000, 1000)));
    const double two = decoding_;
    EXPECT_GT(two, 0.001);
    intake().admit(solid_webp(1000, 1000));
    EXPECT_NEAR(decoding_, two / 2, 1e-9);
    intake().admit(3);  // prepared pixels
    EXPECT_EQ(images_, 3U);
    EXPECT_EQ(decoding_, 0);
    const Refusal late = refusal_of([&] { intake(two / 5).admit(solid_webp(1000, 1000)); });
    EXPECT_EQ(late.status, 503);
    EXPECT_THAT(late.text, HasSubstr("decoding 1000000 pixels takes about"));
    EXPECT_EQ(refusal_of([&] { intake(two / 3).admit(solid_webp(1000, 1000)); }).status, 0);
}

TEST_F(IntakeTest, EndsDecodingThatNobodyWaitsFor) {
    const std::string png = data_test::png(data_test::numbered_image(7, 60, 40));
    EXPECT_EQ(intake().decode(png, "image").width, 60);
    stop_ = true;
    EXPECT_THROW(intake().decode(png, "image"), DecodingStopped);
}

TEST(DecodeTime, IsLearnedByFormatAndWithinBounds) {
    DecodeTime time;
    const ImageInfo jpeg{ImageFormat::jpeg, 1000, 1000, 3};
    const ImageInfo png{ImageFormat::png, 1000, 1000, 3};
    const ImageInfo small{ImageFormat::png, 10, 10, 3};
    const double first = time.expected(jpeg), other = time.expected(png);
    for (int i = 0; i < 100; ++i) time.observe(jpeg, 2 * first);
    EXPECT_NEAR(time.expected(jpeg), 2 * first, 0.01 * first);
    EXPECT_EQ(time.expected(png), other);
    for (int i = 0; i < 100; ++i) time.observe(small, 1);  // overhead says nothing about pixels
    EXPECT_EQ(time.expected(png), other);
    for (int i = 0; i < 1000; ++i) time.observe(jpeg, 1000 * first);
    EXPECT_LE(time.expected(jpeg), 4.01 * first);
    for (int i = 0; i < 1000; ++i) time.observe(jpeg, 0);
    EXPECT_GE(time.expected(jpeg), 0.24 * first);
}

}  // namespace
}  // namespace cait::serve
