#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BoxesTable : public ::testing::Test {
protected:
    DatasetPtr open(const std::string& rows, const std::string& options = "",
                    const std::string& header = "image,label,left,top,right,bottom\n") const {
        put(folder_ / "boxes.csv", header + rows);
        return open_dataset("boxes-csv:" + (folder_ / "boxes.csv").string() + options);
    }

    TemporaryFolder folder_;
};

TEST_F(BoxesTable, GroupsRowsByImage) {
    put_image(folder_ / "b.png", 2);
    put_image(folder_ / "a.png", 1);
    put_image(folder_ / "c.png", 3);
    const DatasetPtr set =
        open("b.png,dog,1,1,3,4\na.png,cat,0.5,0,1,1\nb.png,cat,0,0,1e1,1\nc.png,,,,,\n");
    EXPECT_THAT(set->classes(), ElementsAre("cat", "dog"));
    EXPECT_THAT(numbers_of(*set), ElementsAre(2, 1, 3));
    const std::vector<Object> found = set->objects(0);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].label, 1);
    EXPECT_EQ(found[0].box.bottom, 4);
    EXPECT_EQ(found[0].area, 6);
    EXPECT_EQ(found[1].label, 0);
    EXPECT_EQ(found[1].box.right, 10);  // as it is written
    EXPECT_EQ(set->objects(1)[0].box.left, 0.5);
    EXPECT_THAT(set->objects(2), IsEmpty());
    EXPECT_FALSE(set->has_object_masks());
    EXPECT_EQ(set->image_number(2), 3);
    EXPECT_THAT(set->class_numbers(), ElementsAre(1, 2));
}

TEST_F(BoxesTable, ColumnsAndTheFolderMayHaveOtherNames) {
    put_image(folder_ / "photos/a.png", 9);
    const DatasetPtr set =
        open("1,1,2,2,x,a.png\n", "?image=file&label=class&root=" + (folder_ / "photos").string(),
             "left,top,right,bottom,class,file\n");
    EXPECT_THAT(numbers_of(*set), ElementsAre(9));
    EXPECT_THAT(error_of([&] { open("a.png,x,1,1,2,2\n", "?image=file"); }),
                HasSubstr("boxes.csv: expected a column 'file'"));
    EXPECT_THAT(error_of([&] { open("", "", "image,label,left,top,right\n"); }),
                HasSubstr("expected a column 'bottom'"));
}

TEST_F(BoxesTable, LeavesOutWhatIsNoBoxAndSaysSo) {
    put_image(folder_ / "a.png");  // 6x4
    const DatasetPtr set =
        open("a.png,x,1,1,1,2\na.png,x,2,3,1,4\na.png,x,6,0,7,1\na.png,x,5,0,7,1\n");
    EXPECT_EQ(set->objects(0).size(), 1U);
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("2 boxes without an area"),
                                          HasSubstr("1 boxes outside of their image")));
}

TEST_F(BoxesTable, NamesTheRowThatIsWrong) {
    const auto wrong = [&](const std::string& row) {
        return error_of([&] { open("a.png,x,1,1,2,2\n" + row + "\n"); });
    };
    for (const char* number : {"nan", "-inf", "", "4px"})
        EXPECT_THAT(wrong("a.png,x,1," + std::string(number) + ",2,2"),
                    HasSubstr("boxes.csv:3: top: expected a number of pixels, found '" +
                              std::string(number) + "'"));
    EXPECT_THAT(wrong("a.png,,1,1,2,2"), HasSubstr("boxes.csv:3: the label is empty"));
    EXPECT_THAT(wrong("a.png,x,1,1,2"), HasSubstr("boxes.csv:3: expected 6 fields, found 5"));
    for (const char* image : {"../a.png", "/etc/a.png", ""})
        EXPECT_THAT(wrong(std::string(image) + ",x,1,1,2,2"),
                    HasSubstr("boxes.csv:3: expected an image below the folder"));
    EXPECT_THAT(error_of([&] { open(""); }), HasSubstr("boxes.csv: expected boxes, found none"));
    EXPECT_THAT(error_of([&] { open("", "", ""); }), HasSubstr("expected a header row"));
}

}  // namespace
}  // namespace cait::data_test
