
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Cub200, ReadsItsFourLists) {
    const TemporaryFolder folder;
    const fs::path root = folder / "CUB_200_2011";
    put(root / "classes.txt", "1 001.Albatross\n2 002.Auk\n");
    put(root / "images.txt", "1 002.Auk/a 7.jpg\n2 001.Albatross/b.jpg\n3 002.Auk/c.jpg\n");
    put(root / "image_class_labels.txt", "1 2\n2 1\n3 2\n");
    put(root / "train_test_split.txt", "1 1\n2 0\n3 1\n");
    put_image(root / "images/002.Auk/a 7.jpg", 1);
    put_image(root / "images/001.Albatross/b.jpg", 2);
    put_image(root / "images/002.Auk/c.jpg", 3);
    const std::string uri = "cub200:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(train->classes(), ElementsAre("001.Albatross", "002.Auk"));
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 3));
    EXPECT_THAT(labels_of(*train), ElementsAre(1, 1));
    const DatasetPtr test = open_dataset(uri, Split::val);
    EXPECT_THAT(numbers_of(*test), ElementsAre(2));
    EXPECT_THAT(labels_of(*test), ElementsAre(0));
    EXPECT_TRUE(validates_on_test(uri));

    put(root / "image_class_labels.txt", "1 2\n2 1\n3 9\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("image 3: class '9' is not in classes.txt"));
    put(root / "image_class_labels.txt", "1 2\n2 1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected a line for image 3"));
    put(root / "train_test_split.txt", "1 1\n2 0\n3 x\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("image 3: expected 1 (train) or 0 (test), found 'x'"));
    put(root / "train_test_split.txt", "1 1\n2 0\n2 1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr(":3: number 2 stands here a sec"));
    put(root / "train_test_split.txt", "one 1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr(":1: expected a number and"));
}

}  // namespace
}  // namespace cait::data_test
