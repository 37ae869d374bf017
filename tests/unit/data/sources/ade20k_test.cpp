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

class Ade20k : public ::testing::Test {
protected:
    void add(const std::string& part, const std::string& name, int number, std::uint8_t left,
             std::uint8_t right) const {
        put_pair(root() / "images" / part / (name + ".jpg"),
                 root() / "annotations" / part / (name + ".png"), number, left, right);
    }
    // As the file of the challenge is: fields between tabs, with spaces around them.
    void put_names(int count) const {
        std::string text = "Idx\tRatio\tTrain\tVal\tStuff\tName\n";
        for (int i = 1; i <= count; ++i)
            text += fmt::format("{}\t0.1576 \t11664 \t1172 \t1\t {} \n", i,
                                i == 1   ? "wall"
                                : i == 2 ? "building, edifice"
                                         : fmt::format("thing {}", i));
        put(root() / "objectInfo150.txt", text);
    }
    fs::path root() const { return folder_ / "ADEChallengeData2016"; }
    std::string uri() const { return "ade20k:" + folder_.path().string(); }

private:
    TemporaryFolder folder_;
};

TEST_F(Ade20k, PairsImagesWithAnnotationsInBothParts) {
    add("training", "ADE_train_00000002", 2, 4, 0);
    add("training", "ADE_train_00000001", 1, 1, 150);
    add("validation", "ADE_val_00000001", 3, 2, 3);
    const DatasetPtr train = open_dataset(uri());
    EXPECT_TRUE(train->has_label_images());
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 2));
    EXPECT_THAT(halves_of(*train, 0), Pair(0, 149));
    EXPECT_THAT(halves_of(*train, 1), Pair(3, int(kIgnored)));
    EXPECT_THAT(numbers_of(*open_dataset(uri() + "?split=train")), ElementsAre(1, 2));
    const DatasetPtr val = open_dataset(uri(), Split::val);
    EXPECT_THAT(numbers_of(*val), ElementsAre(3));
    EXPECT_THAT(halves_of(*val, 0), Pair(1, 2));
    // The folder that the archive makes does as well.
    EXPECT_EQ(open_dataset("ade20k:" + root().string())->size(), 2U);
    EXPECT_EQ(failure_of([&] { open_dataset(uri() + "?split=trainval"); }).kind, ErrorKind::usage);
}

TEST_F(Ade20k, NamesItsClassesByObjectInfo) {
    add("training", "a", 1, 1, 2);
    const DatasetPtr numbered = open_dataset(uri());
    ASSERT_EQ(numbered->classes().size(), 150U);
    EXPECT_EQ(numbered->classes()[149], "149");
    EXPECT_TRUE(numbered->class_list().numbered);
    put_names(150);
    const DatasetPtr named = open_dataset(uri());
    ASSERT_EQ(named->classes().size(), 150U);
    EXPECT_EQ(named->classes()[0], "wall");
    EXPECT_EQ(named->classes()[1], "building, edifice");
    EXPECT_EQ(named->classes()[149], "thing 150");
    EXPECT_FALSE(named->class_list().numbered);
    EXPECT_THAT(named->colours(), IsEmpty());
    put_names(149);
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                HasSubstr("objectInfo150.txt: expected 150 classes below a header, found 149"));
}

TEST_F(Ade20k, CountsClassesFromOneAndLeavesOutZero) {
    add("training", "a", 1, 1, 2);
    put(root() / "annotations/training/a.png", numbers_png(all_numbers(150)));
    const std::vector<std::uint8_t> found = open_dataset(uri())->label_image(0).values;
    ASSERT_EQ(found.size(), 152U);
    EXPECT_EQ(found[0], kIgnored);
    for (std::size_t i = 1; i <= 150; ++i) EXPECT_EQ(found[i], i - 1);
    EXPECT_EQ(found[151], kIgnored);
    put(root() / "annotations/training/a.png", png(halves(150, 151)));
    EXPECT_THAT(error_of([&] { open_dataset(uri())->label_image(0); }),
                HasSubstr("annotations/training/a.png: pixel (3, 0): expected 0 to 150 or 255, "
                          "found 151"));
}

TEST_F(Ade20k, NamesTheAnnotationThatIsMissing) {
    add("training", "a", 1, 1, 2);
    put_image(root() / "images/training/b.jpg", 2);
    EXPECT_THAT(error_of([&] { open_dataset(uri()); }),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("annotations/training/b.png")));
}

}  // namespace
}  // namespace cait::data_test
