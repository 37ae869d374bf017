#include "data/open_dataset.h"
#include "unit/data/label_support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

class Cityscapes : public ::testing::Test {
protected:
    // "aachen/aachen_000000_000019"
    void add(const std::string& part, const std::string& name, int number, std::uint8_t left,
             std::uint8_t right) const {
        put_pair(root() / "leftImg8bit" / part / (name + "_leftImg8bit.png"), label(part, name),
                 number, left, right);
        // What else lies there.
        put(root() / "gtFine" / part / (name + "_gtFine_instanceIds.png"), png(halves(9, 9)));
        put(root() / "gtFine" / part / (name + "_gtFine_color.png"), png(halves(9, 9)));
    }
    fs::path label(const std::string& part, const std::string& name) const {
        return root() / "gtFine" / part / (name + "_gtFine_labelIds.png");
    }
    fs::path root() const { return folder_.path(); }
    std::string uri() const { return "cityscapes:" + root().string(); }

private:
    TemporaryFolder folder_;
};

TEST_F(Cityscapes, PairsImagesWithLabelsOfTheirCities) {
    add("train", "bochum/bochum_000000_000313", 3, 26, 33);
    add("train", "aachen/aachen_000001_000019", 2, 8, 4);
    add("train", "aachen/aachen_000000_000019", 1, 7, 23);
    add("val", "ulm/ulm_000000_000019", 4, 11, 12);
    add("test", "bonn/bonn_000000_000019", 5, 0, 0);
    const DatasetPtr train = open_dataset(uri());
    EXPECT_TRUE(train->has_label_images());
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 2, 3));
    EXPECT_THAT(halves_of(*train, 0), Pair(0, 10));
    EXPECT_THAT(halves_of(*train, 1), Pair(1, int(kIgnored)));
    EXPECT_THAT(halves_of(*train, 2), Pair(13, 18));
    EXPECT_THAT(numbers_of(*open_dataset(uri(), Split::train)), ElementsAre(1, 2, 3));
    EXPECT_THAT(numbers_of(*open_dataset(uri(), Split::val)), ElementsAre(4));
    EXPECT_THAT(numbers_of(*open_dataset(uri() + "?split=test")), ElementsAre(5));
    EXPECT_EQ(failure_of([&] { open_dataset(uri() + "?split=trainval"); }).kind, ErrorKind::usage);
}

// By the authors' table (labels.py): name, trainId and colour.
TEST_F(Cityscapes, HasTheClassesThatAreJudgedInTheirOrder) {
    add("train", "a/a_0_0", 1, 7, 7);
    const DatasetPtr data = open_dataset(uri());
    EXPECT_THAT(data->classes(), ElementsAre("road", "sidewalk", "building", "wall", "fence",
                                             "pole", "traffic light", "traffic sign", "vegetation",
                                             "terrain", "sky", "person", "rider", "car", "truck",
                                             "bus", "train", "motorcycle", "bicycle"));
    EXPECT_THAT(
        data->colours(),
        ElementsAre(Colour{128, 64, 128}, Colour{244, 35, 232}, Colour{70, 70, 70},
                    Colour{102, 102, 156}, Colour{190, 153, 153}, Colour{153, 153, 153},
                    Colour{250, 170, 30}, Colour{220, 220, 0}, Colour{107, 142, 35},
                    Colour{152, 251, 152}, Colour{70, 130, 180}, Colour{220, 20, 60},
                    Colour{255, 0, 0}, Colour{0, 0, 142}, Colour{0, 0, 70}, Colour{0, 60, 100},
                    Colour{0, 80, 100}, Colour{0, 0, 230}, Colour{119, 11, 32}));
}

TEST_F(Cityscapes, MapsIdsToClassesAndTheRestToNone) {
    add("train", "a/a_0_0", 1, 7, 7);
    put(label("train", "a/a_0_0"), numbers_png(all_numbers(33)));
    const std::vector<int> expected{255, 255, 255, 255, 255, 255, 255, 0,  1,  255, 255, 2,
                                    3,   4,   255, 255, 255, 5,   255, 6,  7,  8,   9,   10,
                                    11,  12,  13,  14,  15,  255, 255, 16, 17, 18,  255};
    const LabelImage found = open_dataset(uri())->label_image(0);
    EXPECT_THAT(std::vector<int>(found.values.begin(), found.values.end()),
                ElementsAreArray(expected));
    put(label("train", "a/a_0_0"), png(halves(33, 34)));
    EXPECT_THAT(error_of([&] { open_dataset(uri())->label_image(0); }),
                HasSubstr("gtFine/train/a/a_0_0_gtFine_labelIds.png: pixel (3, 0): expected 0 to "
                          "33 or 255, found 34"));
}

TEST_F(Cityscapes, NamesWhatIsMissingOrDoesNotBelongThere) {
    add("train", "a/a_0_0", 1, 7, 7);
    fs::remove(label("train", "a/a_0_0"));
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                AllOf(HasSubstr("expected a label image for each of the 1 images, found 1 without "
                                "one"),
                      HasSubstr("gtFine/train/a/a_0_0_gtFine_labelIds.png")));
    put_image(root() / "leftImg8bit/train/a/photo.png");
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                HasSubstr("expected names that end in _leftImg8bit.png, found a/photo.png"));
}

}  // namespace
}  // namespace cait::data_test
