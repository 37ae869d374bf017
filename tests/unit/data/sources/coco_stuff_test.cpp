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

class CocoStuff : public ::testing::Test {
protected:
    void add(const std::string& part, const std::string& name, int number, std::uint8_t left,
             std::uint8_t right) const {
        put_pair(root() / "images" / part / (name + ".jpg"), label(part, name), number, left,
                 right);
    }
    fs::path label(const std::string& part, const std::string& name) const {
        return root() / "stuffthingmaps" / part / (name + ".png");
    }
    // Backwards: the number says which class a line is of. `leave_out` has no line.
    void put_names(int leave_out = -1) const {
        std::string text;
        for (int i = 182; i >= 0; --i)
            if (i != leave_out)
                text +=
                    fmt::format("{}: {}\n", i, i == 0 ? "unlabeled" : fmt::format("kind {}", i));
        put(root() / "labels.txt", text);
    }
    fs::path root() const { return folder_.path(); }
    std::string uri() const { return "coco-stuff:" + root().string(); }

private:
    TemporaryFolder folder_;
};

TEST_F(CocoStuff, PairsImagesWithMapsInBothParts) {
    add("train2017", "000000000009", 1, 0, 181);
    add("train2017", "000000000025", 2, 24, 255);
    add("val2017", "000000000139", 3, 1, 2);
    const DatasetPtr train = open_dataset(uri());
    EXPECT_TRUE(train->has_label_images());
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 2));
    EXPECT_THAT(halves_of(*train, 0), Pair(0, 181));
    EXPECT_THAT(halves_of(*train, 1), Pair(24, int(kIgnored)));
    EXPECT_THAT(numbers_of(*open_dataset(uri(), Split::train)), ElementsAre(1, 2));
    const DatasetPtr val = open_dataset(uri(), Split::val);
    EXPECT_THAT(numbers_of(*val), ElementsAre(3));
    EXPECT_THAT(halves_of(*val, 0), Pair(1, 2));
}

TEST_F(CocoStuff, IsFoundInTheOtherLayoutToo) {
    put_pair(root() / "val2017/a.jpg", root() / "annotations/val2017/a.png", 7, 3, 4);
    const DatasetPtr val = open_dataset(uri() + "?split=val");
    EXPECT_THAT(numbers_of(*val), ElementsAre(7));
    EXPECT_THAT(halves_of(*val, 0), Pair(3, 4));
}

TEST_F(CocoStuff, NamesItsClassesByTheNumbersOfTheFile) {
    add("train2017", "a", 1, 0, 1);
    const DatasetPtr numbered = open_dataset(uri());
    ASSERT_EQ(numbered->classes().size(), 182U);
    EXPECT_EQ(numbered->classes()[181], "181");
    EXPECT_TRUE(numbered->class_list().numbered);
    put_names();
    const DatasetPtr named = open_dataset(uri());
    ASSERT_EQ(named->classes().size(), 182U);
    EXPECT_EQ(named->classes()[0], "kind 1");
    EXPECT_EQ(named->classes()[181], "kind 182");
    EXPECT_FALSE(named->class_list().numbered);
    EXPECT_THAT(named->colours(), IsEmpty());
    put_names(77);
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                HasSubstr("labels.txt: expected 182 classes, found 181"));
    put_names(77);
    put(root() / "labels.txt", read_file(root() / "labels.txt") + "76: again\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                HasSubstr("labels.txt: class 76 stands there twice, also as 'again'"));
    for (const char* line : {"person", "183: person", "person: 1", "1 person"}) {
        put(root() / "labels.txt", std::string(line) + "\n");
        EXPECT_THAT(
            error_of([&] { open_dataset(uri()); }),
            HasSubstr(fmt::format("labels.txt: expected lines as '1: person', found '{}'", line)));
    }
}

TEST_F(CocoStuff, KeepsNumbersAndRefusesThoseOfNoClass) {
    add("train2017", "a", 1, 0, 1);
    put(label("train2017", "a"), numbers_png(all_numbers(181)));
    EXPECT_EQ(open_dataset(uri())->label_image(0).values, all_numbers(181));
    put(label("train2017", "a"), png(halves(181, 182)));
    EXPECT_THAT(error_of([&] { open_dataset(uri())->label_image(0); }),
                HasSubstr("stuffthingmaps/train2017/a.png: pixel (3, 0): expected 0 to 181 or 255, "
                          "found 182"));
}

TEST_F(CocoStuff, NamesTheMapThatIsMissing) {
    add("train2017", "a", 1, 0, 1);
    put_image(root() / "images/train2017/b.jpg", 2);
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("stuffthingmaps/train2017/b.png")));
}

}  // namespace
}  // namespace cait::data_test
