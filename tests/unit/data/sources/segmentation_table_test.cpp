#include <fmt/format.h>

#include "data/open_dataset.h"
#include "unit/data/label_support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class SegmentationTable : public ::testing::Test {
protected:
    SegmentationTable() {
        put_pair(folder_ / "pictures/a.png", folder_ / "masks/one.png", 1, 0, 1);
        put_pair(folder_ / "pictures/b, c.png", folder_ / "masks/two.png", 2, 2, 255);
    }
    void put_table(const std::string& text) const { put(folder_ / "pairs.csv", text); }
    void put_classes(const std::string& text) const { put(folder_ / "classes.txt", text); }
    DatasetPtr open(const std::string& options = "") const {
        return open_dataset(
            fmt::format("segmentation-csv:{}{}", (folder_ / "pairs.csv").string(), options));
    }

    TemporaryFolder folder_;
};

TEST_F(SegmentationTable, PairsWhatItsRowsName) {
    put_table("image,label\n\"pictures/b, c.png\",masks/two.png\npictures/a.png,masks/one.png\n");
    const DatasetPtr data = open();
    EXPECT_TRUE(data->has_label_images());
    EXPECT_THAT(numbers_of(*data), ElementsAre(2, 1));
    EXPECT_THAT(halves_of(*data, 0), Pair(2, int(kIgnored)));
    EXPECT_THAT(halves_of(*data, 1), Pair(0, 1));
    EXPECT_THAT(data->classes(), ElementsAre("0", "1", "2"));
    EXPECT_TRUE(data->class_list().numbered);
    EXPECT_THAT(data->colours(), IsEmpty());
}

TEST_F(SegmentationTable, TakesOtherColumnsAndAnotherRoot) {
    put_table("label,mask,split,photo\nx,one.png,train,../pictures/a.png\n");
    const DatasetPtr data = open("?image=photo&label=mask&root=" + (folder_ / "masks").string());
    EXPECT_THAT(numbers_of(*data), ElementsAre(1));
    EXPECT_THAT(halves_of(*data, 0), Pair(0, 1));
    put_table(fmt::format("image,label\n{},{}\n", (folder_ / "pictures/a.png").string(),
                          (folder_ / "masks/one.png").string()));
    EXPECT_THAT(numbers_of(*open("?root=/nowhere")), ElementsAre(1));  // absolute paths are kept
}

TEST_F(SegmentationTable, ReadsClassesAndColoursBesideItself) {
    put_table("image,label\npictures/a.png,masks/one.png\n");
    put_classes("sky 1 2 3\nroad 4 5 6\n");
    EXPECT_THAT(open()->classes(), ElementsAre("sky", "road"));
    EXPECT_THAT(open()->colours(), ElementsAre(Colour{1, 2, 3}, Colour{4, 5, 6}));
    put(folder_ / "other.txt", "x\ny\nz\n");
    const DatasetPtr other = open("?classes=" + (folder_ / "other.txt").string());
    EXPECT_THAT(other->classes(), ElementsAre("x", "y", "z"));
    EXPECT_THAT(other->colours(), IsEmpty());
}

TEST_F(SegmentationTable, MapsNumbersAsItsOptionsSay) {
    put_table("image,label\npictures/a.png,masks/row.png\n");
    put(folder_ / "masks/row.png", numbers_png({0, 1, 2, 3, 255}));
    const auto values = [&](const std::string& options) {
        const LabelImage found = open(options)->label_image(0);
        return std::vector<int>(found.values.begin(), found.values.end());
    };
    EXPECT_THAT(values(""), ElementsAre(0, 1, 2, 3, 255));
    EXPECT_THAT(values("?ignore=3,1"), ElementsAre(0, 255, 2, 255, 255));
    EXPECT_THAT(values("?reduce_zero=true"), ElementsAre(255, 0, 1, 2, 255));
    EXPECT_THAT(open("?reduce_zero=true&ignore=3")->classes(), ElementsAre("0", "1"));
    put_classes("sky\nroad\n");
    EXPECT_THAT(error_of([&] { open()->label_image(0); }),
                HasSubstr("masks/row.png: pixel (2, 0): expected 0 to 1 or 255, found 2"));
    EXPECT_THAT(values("?ignore=2,3"), ElementsAre(0, 1, 255, 255, 255));
    EXPECT_EQ(failure_of([&] { open("?ignore=256"); }).kind, ErrorKind::usage);
}

TEST_F(SegmentationTable, NamesTheLabelImageThatIsMissing) {
    put_table("image,label\npictures/a.png,masks/one.png\npictures/a.png,masks/three.png\n");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("masks/three.png"));
    put_classes("sky\nroad\n");
    EXPECT_THAT(error_of([&] { open(); }),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("masks/three.png")));
}

TEST_F(SegmentationTable, SaysWhatIsWrongInTheTable) {
    put_table("");
    EXPECT_THAT(error_of([&] { open(); }),
                HasSubstr("pairs.csv: expected a header row, found an empty file"));
    put_table("picture,label\npictures/a.png,masks/one.png\n");
    EXPECT_THAT(error_of([&] { open(); }),
                HasSubstr("pairs.csv: expected a column 'image', found 'picture,label'"));
    put_table("image,label\npictures/a.png,masks/one.png\npictures/a.png\n");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("pairs.csv:3: expected 2 fields with an image "
                                                     "and a label image, found 1"));
    put_table("image,label\npictures/a.png,\n");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("pairs.csv:2: expected 2 fields"));
    put_table("image,label\n");
    put_classes("sky\n");
    EXPECT_THAT(error_of([&] { open(); }),
                HasSubstr("expected images with label images, found none"));
}

}  // namespace
}  // namespace cait::data_test
