#include <fmt/format.h>

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VocBoxes : public ::testing::Test {
protected:
    static std::string object(const std::string& name, const std::string& box, bool difficult) {
        return fmt::format(
            "<object><name>{}</name><difficult>{}</difficult>{}"
            "<part><name>head</name><bndbox><xmin>9</xmin></bndbox></part></object>",
            name, difficult ? 1 : 0, box);
    }
    static std::string box(int left, int top, int right, int bottom) {
        return fmt::format(
            "<bndbox><xmin>{}</xmin>\n<ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox>", left,
            top, right, bottom);
    }
    void put_annotated(const std::string& name, const std::string& objects,
                       const std::string& size = "") const {
        put_image(folder_ / "JPEGImages" / (name + ".png"), name[0]);
        put(folder_ / "Annotations" / (name + ".xml"),
            "<annotation>\n" + size + objects + "</annotation>\n");
    }
    void put_list(const std::string& part, const std::string& names) const {
        put(folder_ / "ImageSets/Main" / (part + ".txt"), names);
    }
    DatasetPtr open(const std::string& options = "", Split hint = Split::any) const {
        return open_dataset("voc-boxes:" + (folder_ / "").string() + options, hint);
    }

    TemporaryFolder folder_;
};

TEST_F(VocBoxes, CountsPixelsFromOneAndTheLastOneToo) {
    put_annotated("b",
                  object("dog", box(1, 2, 6, 4), false) + object("cat", box(3, 3, 3, 3), true));
    put_annotated("a", "");
    const DatasetPtr set = open();
    EXPECT_THAT(set->classes(), ElementsAre("cat", "dog"));
    ASSERT_EQ(set->size(), 2U);
    EXPECT_THAT(numbers_of(*set), ElementsAre('a', 'b'));
    EXPECT_THAT(set->objects(0), IsEmpty());
    const std::vector<Object> found = set->objects(1);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].label, 1);
    EXPECT_EQ(found[0].box.left, 0);
    EXPECT_EQ(found[0].box.top, 1);
    EXPECT_EQ(found[0].box.right, 6);
    EXPECT_EQ(found[0].box.bottom, 4);
    EXPECT_FALSE(found[0].crowd);
    EXPECT_EQ(found[0].area, 18);
    EXPECT_TRUE(found[1].crowd);  // difficult
    EXPECT_EQ(found[1].area, 1);
    EXPECT_FALSE(set->has_object_masks());
    EXPECT_THAT(set->notes(), IsEmpty());
}

TEST_F(VocBoxes, HasThePartsOfItsLists) {
    for (const char* name : {"a", "b", "c"})
        put_annotated(name, object("dog", box(1, 1, 2, 2), false));
    put_list("train", "c\na\n");
    put_list("val", "b\n");
    put_list("trainval", "a 1\nb -1\nc 1\n");
    EXPECT_THAT(numbers_of(*open()), ElementsAre('c', 'a'));
    EXPECT_THAT(numbers_of(*open("", Split::val)), ElementsAre('b'));
    EXPECT_EQ(open("?split=trainval")->size(), 3U);
    EXPECT_THAT(error_of([&] { open("?split=test"); }), HasSubstr("ImageSets/Main/test.txt"));
    EXPECT_TRUE(has_part("voc-boxes:" + (folder_ / "").string(), Split::val));
    EXPECT_FALSE(has_part("voc-boxes:" + (folder_ / "").string(), Split::test));
}

TEST_F(VocBoxes, TakesTheSizeOfTheListBeforeThatOfTheImage) {
    const std::string outside = object("dog", box(8, 1, 9, 2), false);
    const std::string inside = object("dog", box(1, 1, 2, 2), false);
    put_annotated("a", outside + inside);  // the image is 6x4
    put_annotated("b", outside + inside, "<size><width>20</width><height>20</height></size>");
    const DatasetPtr set = open();
    EXPECT_EQ(set->objects(0).size(), 1U);
    EXPECT_EQ(set->objects(1).size(), 2U);
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("1 boxes outside")));
}

TEST_F(VocBoxes, NamesFileAndLineOfWhatIsWrong) {
    const auto wrong = [&](const std::string& objects) {
        put_annotated("a", objects);
        return error_of([&] { open(); });
    };
    EXPECT_THAT(wrong("<object>" + box(1, 1, 2, 2) + "</object>"),
                HasSubstr("Annotations/a.xml:2: expected an object with a name, found none"));
    EXPECT_THAT(wrong("<object><name>x</name></object>"),
                HasSubstr("a.xml:2: expected an object with a bndbox, found none"));
    for (const char* number : {"nan", "inf", "", "1e999", "2 3", "x"})
        EXPECT_THAT(wrong(fmt::format("\n<object><name>x</name><bndbox><xmin>{}</xmin></bndbox>"
                                      "</object>",
                                      number)),
                    HasSubstr(fmt::format("a.xml:3: xmin: expected a number of pixels, found '{}'",
                                          number)));
    EXPECT_THAT(wrong("<object>"), HasSubstr("a.xml:2: expected </'object'>"));
    EXPECT_THAT(wrong(""), HasSubstr("expected objects in Annotations, found none"));
    put(folder_ / "Annotations/a.xml", "<html></html>");
    EXPECT_THAT(error_of([&] { open(); }),
                HasSubstr("a.xml:1: expected <annotation>, found <'html'>"));
    put_annotated("a", object("dog", box(1, 1, 2, 2), false));
    put_list("train", "a\nzebra\n");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("expected an image 'zebra' in JPEGImages"));
    put_list("train", "../a\n");
    EXPECT_THAT(error_of([&] { open(); }),
                HasSubstr("train.txt:1: expected the name of an image, found '../a'"));
}

}  // namespace
}  // namespace cait::data_test
