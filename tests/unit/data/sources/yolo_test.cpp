#include "data/open_dataset.h"
#include "data/pack.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Yolo : public ::testing::Test {
protected:
    // An image of 6x4 pixels below images/, with its label file.
    void put_labelled(const std::string& name, const std::string& lines) const {
        put_image(folder_ / "images" / (name + ".png"));
        put(folder_ / "labels" / (name + ".txt"), lines);
    }
    DatasetPtr open(const std::string& options = "", Split hint = Split::any) const {
        return open_dataset("yolo:" + (folder_ / "").string() + options, hint);
    }

    TemporaryFolder folder_;
};

TEST_F(Yolo, ReadsBoxesAndPolygonsInSharesOfTheImage) {
    put(folder_ / "classes.txt", "cell\nnucleus\n");
    put_labelled("a", "1 0.5 0.5 0.5 0.25\n\n0 0 0 0.5 0 0.5 0.75\n");
    put_labelled("b", "");
    put_image(folder_ / "images/c.png");
    const DatasetPtr set = open();
    EXPECT_THAT(set->classes(), ElementsAre("cell", "nucleus"));
    ASSERT_EQ(set->size(), 3U);
    const std::vector<Object> found = set->objects(0);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].label, 1);
    EXPECT_EQ(found[0].box.left, 1.5);
    EXPECT_EQ(found[0].box.top, 1.5);
    EXPECT_EQ(found[0].box.right, 4.5);
    EXPECT_EQ(found[0].box.bottom, 2.5);
    EXPECT_TRUE(found[0].mask.empty());
    EXPECT_THAT(found[1].mask.polygons, ElementsAre(ElementsAre(0, 0, 3, 0, 3, 3)));
    EXPECT_EQ(found[1].box.right, 3);
    EXPECT_EQ(found[1].area, 4.5);
    EXPECT_THAT(set->objects(1), IsEmpty());
    EXPECT_THAT(set->objects(2), IsEmpty());
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("1 objects have no mask"),
                                          HasSubstr("1 of 3 images have no label file")));
}

TEST_F(Yolo, FindsItsNamesInSeveralPlaces) {
    put_labelled("a", "1 0.5 0.5 1 1\n");
    EXPECT_THAT(open()->classes(), ElementsAre("0", "1"));  // no names
    put(folder_ / "data.yaml", "nc: 2\nnames: ['red', 'white']\n");
    EXPECT_THAT(open()->classes(), ElementsAre("red", "white"));
    put(folder_ / "classes.txt", "RBC\nWBC\n");
    EXPECT_THAT(open()->classes(), ElementsAre("RBC", "WBC"));
    put(folder_ / "other.yaml", "names:\n  0: one\n  1: two\n");
    EXPECT_THAT(open("?classes=" + (folder_ / "other.yaml").string())->classes(),
                ElementsAre("one", "two"));
    put(folder_ / "other.txt", "un\ndeux\n");
    EXPECT_THAT(open("?classes=" + (folder_ / "other.txt").string())->classes(),
                ElementsAre("un", "deux"));
    put(folder_ / "other.yaml", "nc: 2\n");
    EXPECT_THAT(error_of([&] { open("?classes=" + (folder_ / "other.yaml").string()); }),
                HasSubstr("other.yaml: expected 'names:', found no such line"));
}

TEST_F(Yolo, HasThePartsOfItsFolders) {
    put(folder_ / "classes.txt", "cell\n");
    put_labelled("train/a", "0 0.5 0.5 1 1\n");
    put_labelled("val/b", "0 0.5 0.5 1 1\n0 0.5 0.5 1 1\n");
    EXPECT_EQ(open("", Split::train)->objects(0).size(), 1U);
    EXPECT_EQ(open("", Split::val)->objects(0).size(), 2U);
    const TemporaryFolder other;  // as Roboflow writes them
    put_image(other / "train/images/a.png");
    put(other / "train/labels/a.txt", "0 0.5 0.5 1 1\n");
    put_image(other / "valid/images/b.png");
    put(other / "valid/labels/b.txt", "1 0.5 0.5 1 1\n");
    put(other / "data.yaml", "names:\n- x\n- y\n");
    const std::string uri = "yolo:" + (other / "").string();
    EXPECT_THAT(open_dataset(uri + "?split=val")->labels(0), ElementsAre(1));
    EXPECT_TRUE(has_part(uri, Split::val));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=test"); }),
                HasSubstr("expected the folders images and labels"));
}

TEST_F(Yolo, NamesFileAndLineOfWhatIsWrong) {
    put(folder_ / "classes.txt", "cell\nnucleus\n");
    const auto wrong = [&](const std::string& line) {
        put_labelled("a", "0 0.5 0.5 1 1\n" + line + "\n");
        return error_of([&] { open(); });
    };
    EXPECT_THAT(wrong("2 0.5 0.5 1 1"),
                HasSubstr("labels/a.txt:2: expected a class from 0 to 1, found '2'"));
    EXPECT_THAT(wrong("-1 0.5 0.5 1 1"), HasSubstr("expected a class from 0 to 1, found '-1'"));
    EXPECT_THAT(wrong("cell 0.5 0.5 1 1"), HasSubstr("found 'cell'"));
    for (const char* line : {"0", "0 0.5 0.5 1", "0 0.5 0.5 1 1 1", "0 1 1 1 1 1 1 1"})
        EXPECT_THAT(wrong(line), HasSubstr("a.txt:2: expected a class with 4 numbers, or with x "
                                           "and y of 3 points or more, found"))
            << line;
    for (const char* number : {"nan", "inf", "312", "-5", "0,5"})
        EXPECT_THAT(wrong(std::string("0 0.5 ") + number + " 1 1"),
                    HasSubstr("expected shares of the image, from 0 to 1, found '" +
                              std::string(number) + "'"));
}

TEST_F(Yolo, LeavesOutBoxesWithoutAnAreaAndOutside) {
    put(folder_ / "classes.txt", "cell\n");
    put_labelled("a", "0 0.5 0.5 0 1\n0 1.5 0.5 0.5 1\n0 1 0.5 0.5 1\n");
    const DatasetPtr set = open();
    ASSERT_EQ(set->objects(0).size(), 1U);
    EXPECT_EQ(set->objects(0)[0].box.right, 7.5);  // as it is written
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("1 boxes without an area"),
                                          HasSubstr("1 boxes outside of their image")));
}

TEST_F(Yolo, AnImageThatCannotBeReadHasNoObjects) {
    put(folder_ / "classes.txt", "cell\n");
    put_labelled("a", "0 0.5 0.5 1 1\n");
    put(folder_ / "images/a.png", "no image");
    EXPECT_THAT(open()->objects(0), IsEmpty());
}

// Shards hold labels alone: the boxes would be lost.
TEST_F(Yolo, IsNotPackedIntoShards) {
    put_labelled("a", "0 0.5 0.5 1 1\n");
    EXPECT_THAT(error_of([&] { pack(*open(), folder_ / "shards", {}); }),
                HasSubstr("expected images with one label each for shards"));
}

TEST_F(Yolo, WithoutNamesAndObjectsThereIsNothingToLearn) {
    put_labelled("a", "");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("expected classes.txt or data.yaml"));
}

}  // namespace
}  // namespace cait::data_test
