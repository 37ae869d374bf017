
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void put_tiny(const fs::path& root) {
    put(root / "wnids.txt", "n02\nn01\nn03\n");  // not sorted, as the published list
    put(root / "words.txt", "n01\tgoldfish, Carassius\nn02\tcrane\nn03\tcrane\nn99\tother\n");
    put_image(root / "train/n02/images/n02_0.JPEG", 20);
    put_image(root / "train/n01/images/n01_0.JPEG", 10);
    put_image(root / "train/n01/images/n01_1.JPEG", 11);
    put_image(root / "train/n03/images/n03_0.JPEG", 30);
    put(root / "train/n01/n01_boxes.txt", "n01_0.JPEG\t0\t10\t63\t58\n");
    put(root / "val/val_annotations.txt",
        "val_0.JPEG\tn03\t0\t32\t44\t62\nval_1.JPEG\tn01\t52\t55\t57\t59\n");
    put_image(root / "val/images/val_0.JPEG", 1);
    put_image(root / "val/images/val_1.JPEG", 2);
}

TEST(TinyImageNet, ReadsBothParts) {
    const TemporaryFolder folder;
    put_tiny(folder / "tiny-imagenet-200");
    const std::string uri = "tiny-imagenet:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(train->classes(), ElementsAre("n01", "n02", "n03"));
    EXPECT_THAT(numbers_of(*train), ElementsAre(10, 11, 20, 30));
    EXPECT_THAT(labels_of(*train), ElementsAre(0, 0, 1, 2));
    const DatasetPtr val = open_dataset(uri, Split::val);
    EXPECT_THAT(numbers_of(*val), ElementsAre(1, 2));
    EXPECT_THAT(labels_of(*val), ElementsAre(2, 0));
    EXPECT_FALSE(validates_on_test(uri));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=test"); }), HasSubstr("not public"));
}

TEST(TinyImageNet, TellsClassesByTheirWordsWhereAsked) {
    const TemporaryFolder folder;
    put_tiny(folder.path());
    const std::string uri = "tiny-imagenet:" + folder.path().string() + "?labels=words";
    EXPECT_THAT(open_dataset(uri)->classes(),
                ElementsAre("goldfish, Carassius", "crane", "crane (n03)"));
    put(folder / "words.txt", "n01\tgoldfish\nn02\tcrane\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected a line for 'n03'"));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "x"); }), HasSubstr("expected ids or words"));
}

TEST(TinyImageNet, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    put_tiny(folder.path());
    put(folder / "val/val_annotations.txt", "val_0.JPEG\tn03\nval_1.JPEG\tn77\n");
    const std::string uri = "tiny-imagenet:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri, Split::val); }),
                HasSubstr("val_annotations.txt:2: expected an image and an id of wnids.txt"));
}

}  // namespace
}  // namespace cait::data_test
