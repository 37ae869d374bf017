#include "data/open_dataset.h"
#include "unit/data/label_support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

// The first 21 colours of the files, as the development kit's VOClabelcolormap gives them.
const std::vector<Colour> kVocColours{
    {0, 0, 0},     {128, 0, 0},     {0, 128, 0},    {128, 128, 0},   {0, 0, 128},  {128, 0, 128},
    {0, 128, 128}, {128, 128, 128}, {64, 0, 0},     {192, 0, 0},     {64, 128, 0}, {192, 128, 0},
    {64, 0, 128},  {192, 0, 128},   {64, 128, 128}, {192, 128, 128}, {0, 64, 0},   {128, 64, 0},
    {0, 192, 0},   {128, 192, 0},   {0, 64, 128}};

class VocSegmentation : public ::testing::Test {
protected:
    void add(const std::string& name, int number, std::uint8_t left, std::uint8_t right) const {
        put_image(root() / "JPEGImages" / (name + ".jpg"), number);
        const std::vector<std::byte> bytes = encode_palette_png(halves(left, right), kVocColours);
        put(label(name), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    void list(const std::string& part, const std::string& names) const {
        put(root() / "ImageSets/Segmentation" / (part + ".txt"), names);
    }
    fs::path label(const std::string& name) const {
        return root() / "SegmentationClass" / (name + ".png");
    }
    fs::path root() const { return folder_ / "VOCdevkit/VOC2012"; }
    std::string uri() const { return "voc-segmentation:" + folder_.path().string(); }

private:
    TemporaryFolder folder_;
};

TEST_F(VocSegmentation, PairsImagesWithLabelsByItsLists) {
    add("2007_000032", 1, 0, 1);
    add("2007_000033", 2, 15, 255);
    add("2007_000039", 3, 20, 7);
    put_image(root() / "JPEGImages/2008_000001.jpg", 4);  // of another task
    list("train", "2007_000039\n2007_000032\n");
    list("val", "2007_000033\n");
    list("trainval", "2007_000032\n2007_000033\n2007_000039\n");
    const DatasetPtr train = open_dataset(uri());
    EXPECT_TRUE(train->has_label_images());
    EXPECT_THAT(numbers_of(*train), ElementsAre(3, 1));  // in the order of the list
    EXPECT_THAT(halves_of(*train, 0), Pair(20, 7));
    EXPECT_THAT(halves_of(*train, 1), Pair(0, 1));
    const DatasetPtr val = open_dataset(uri(), Split::val);
    EXPECT_THAT(numbers_of(*val), ElementsAre(2));
    EXPECT_THAT(halves_of(*val, 0), Pair(15, int(kIgnored)));
    EXPECT_THAT(numbers_of(*open_dataset(uri() + "?split=trainval")), ElementsAre(1, 2, 3));
    EXPECT_THAT(error_of([&] { open_dataset(uri() + "?split=test"); }),
                HasSubstr("ImageSets/Segmentation/test.txt"));
    EXPECT_EQ(open_dataset("voc-segmentation:" + root().string())->size(), 2U);
}

TEST_F(VocSegmentation, HasItsClassesAndTheColoursOfItsFiles) {
    add("a", 1, 0, 1);
    list("train", "a\n");
    const DatasetPtr data = open_dataset(uri());
    EXPECT_THAT(data->classes(), ElementsAre("background", "aeroplane", "bicycle", "bird", "boat",
                                             "bottle", "bus", "car", "cat", "chair", "cow",
                                             "diningtable", "dog", "horse", "motorbike", "person",
                                             "pottedplant", "sheep", "sofa", "train", "tvmonitor"));
    EXPECT_THAT(data->colours(), ElementsAreArray(kVocColours));
}

TEST_F(VocSegmentation, KeepsNumbersAndRefusesThoseOfNoClass) {
    add("a", 1, 0, 1);
    list("train", "a\n");
    put(label("a"), numbers_png(all_numbers(20)));
    EXPECT_EQ(open_dataset(uri())->label_image(0).values, all_numbers(20));
    put(label("a"), png(halves(20, 21)));
    EXPECT_THAT(error_of([&] { open_dataset(uri())->label_image(0); }),
                HasSubstr("SegmentationClass/a.png: pixel (3, 0): expected 0 to 20 or 255, found "
                          "21"));
}

TEST_F(VocSegmentation, NamesTheLabelFileThatIsMissing) {
    add("a", 1, 0, 1);
    list("train", "a\nb\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("SegmentationClass/b.png")));
}

}  // namespace
}  // namespace cait::data_test
