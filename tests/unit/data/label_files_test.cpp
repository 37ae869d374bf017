#include "data/label_files.h"

#include "image/codec/encode.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string bytes_of(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

std::vector<std::uint8_t> values_of(const LabelCodes& codes, const std::string& png) {
    return codes.read(std::as_bytes(std::span(png)), "label.png").values;
}

// 3x2 pixels of a palette of three colours in 4 bits: 0 1 2 / 2 1 0.
const std::string kPalette = bytes_of(
    "89504e470d0a1a0a0000000d49484452000000030000000204030000006f5a7b2900000009504c5445000000800000"
    "0080"
    "00a65065530000000e4944415478da636054605064000000cd00437a58dbad0000000049454e44ae426082");
const std::string kGrey16 = bytes_of(
    "89504e470d0a1a0a0000000d494844520000000200000001100000000081d9fc150000000d4944415478da63606064"
    "600200"
    "000a0004c81c4b130000000049454e44ae426082");
// 3x1 grey pixels in 2 bits: 0 1 2.
const std::string kGrey2 = bytes_of(
    "89504e470d0a1a0a0000000d4948445200000003000000010200000000743b53c90000000a4944415478da63900000"
    "001a00"
    "1980008ebb0000000049454e44ae426082");

Image grey(std::int64_t width, const std::vector<std::uint8_t>& values) {
    return {width, std::int64_t(values.size()) / width, 1, values};
}

TEST(LabelCodes, TakeTheNumbersOfPaletteAndGreyFilesAsTheyAreStored) {
    const LabelCodes codes = LabelCodes::counted(3);
    EXPECT_THAT(values_of(codes, kPalette), ElementsAre(0, 1, 2, 2, 1, 0));
    EXPECT_THAT(values_of(codes, kGrey2), ElementsAre(0, 1, 2));
    EXPECT_THAT(values_of(codes, png(grey(2, {0, 2, 255, 1}))), ElementsAre(0, 2, kIgnored, 1));
}

TEST(LabelCodes, LeaveOutZeroWhereClassesBeginAtOne) {
    const LabelCodes codes = LabelCodes::counted(3, true);
    EXPECT_THAT(values_of(codes, png(grey(5, {0, 1, 2, 3, 255}))),
                ElementsAre(kIgnored, 0, 1, 2, kIgnored));
}

TEST(LabelCodes, NameThePixelWhoseNumberIsWrong) {
    LabelCodes codes = LabelCodes::counted(2);
    codes.set(11, kIgnored);
    EXPECT_THAT(values_of(codes, png(grey(3, {0, 1, 11}))), ElementsAre(0, 1, kIgnored));
    EXPECT_EQ(error_of([&] {
                  values_of(codes, png(grey(2, {0, 1, 0, 7})));
              }),
              "label.png: pixel (1, 1): expected 0 to 1 or 11 or 255, found 7");
}

TEST(LabelCodes, RefuseFilesThatHoldNoNumbers) {
    const LabelCodes codes = LabelCodes::counted(3);
    EXPECT_THAT(error_of([&] { values_of(codes, png(numbered_image(1))); }),
                AllOf(HasSubstr("label.png: expected a number from 0 to 255 for each pixel"),
                      HasSubstr("found 3 channels of 8 bits")));
    EXPECT_THAT(error_of([&] { values_of(codes, kGrey16); }),
                HasSubstr("found 1 channels of 16 bits"));
    const std::vector<std::byte> jpeg = encode_jpeg(numbered_image(1));
    EXPECT_THAT(error_of([&] { codes.read(jpeg, "label.png"); }),
                HasSubstr("label.png: expected a label image as PNG"));
    EXPECT_THAT(error_of([&] { values_of(codes, kPalette.substr(0, 80)); }),
                HasSubstr("label.png: malformed PNG"));
}

TEST(ClassColours, StandBehindTheNames) {
    const TemporaryFolder folder;
    put(folder.path() / "c.txt", "sky 70 130 180\ntraffic light 250 170 30\n");
    const NamedColours classes = read_class_colours(folder.path() / "c.txt");
    EXPECT_THAT(classes.names, ElementsAre("sky", "traffic light"));
    EXPECT_THAT(classes.colours, ElementsAre(Colour{70, 130, 180}, Colour{250, 170, 30}));
    put(folder.path() / "plain.txt", "sky\nroad 66\n");
    EXPECT_THAT(read_class_colours(folder.path() / "plain.txt").names,
                ElementsAre("sky", "road 66"));
    EXPECT_TRUE(read_class_colours(folder.path() / "plain.txt").colours.empty());
    put(folder.path() / "mixed.txt", "sky 70 130 180\nroad\n");
    EXPECT_THAT(error_of([&] { read_class_colours(folder.path() / "mixed.txt"); }),
                HasSubstr("mixed.txt:2: expected a colour (NAME R G B) for all classes"));
    put(folder.path() / "twice.txt", "sky 1 2 3\nsky 4 5 6\n");
    EXPECT_THAT(error_of([&] { read_class_colours(folder.path() / "twice.txt"); }),
                HasSubstr("twice.txt:2: expected a class name of its own"));
}

}  // namespace
}  // namespace cait::data_test
