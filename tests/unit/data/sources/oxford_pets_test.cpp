
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OxfordPets, ReadsItsLists) {
    const TemporaryFolder folder;
    // Breeds are ordered by number, not by name, and one stands in the test list alone.
    put(folder / "annotations/trainval.txt",
        "#Image CLASS-ID SPECIES BREED ID\nshiba_inu_4 34 2 23\nAbyssinian_1 1 1 1\n");
    put(folder / "annotations/test.txt", "american_bulldog_3 2 2 1\nAbyssinian_2 1 1 1\n");
    put_image(folder / "images/shiba_inu_4.jpg", 4);
    put_image(folder / "images/Abyssinian_1.jpg", 1);
    put_image(folder / "images/american_bulldog_3.jpg", 3);
    put_image(folder / "images/Abyssinian_2.jpg", 2);
    const std::string uri = "oxford-pets:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(train->classes(), ElementsAre("Abyssinian", "american_bulldog", "shiba_inu"));
    EXPECT_THAT(numbers_of(*train), ElementsAre(4, 1));
    EXPECT_THAT(labels_of(*train), ElementsAre(2, 0));
    EXPECT_THAT(numbers_of(*open_dataset(uri + "?split=trainval")), ElementsAre(4, 1));
    const DatasetPtr test = open_dataset(uri, Split::val);
    EXPECT_THAT(numbers_of(*test), ElementsAre(3, 2));
    EXPECT_THAT(labels_of(*test), ElementsAre(1, 0));
    EXPECT_TRUE(validates_on_test(uri));
}

TEST(OxfordPets, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const std::string uri = "oxford-pets:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("expected annotations/trainval.txt in"));
    put(folder / "annotations/trainval.txt", "Abyssinian_1 1 1 1\n");
    put(folder / "annotations/test.txt", "Abyssinian_2 1\nBengal\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("test.txt:2: expected BREED_NUMBER and the breed's number, found 'Beng"));
    put(folder / "annotations/test.txt", "Bengal_2 1 1 1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("breed 1 is called 'Abyssinian' and 'Bengal'"));
}

}  // namespace
}  // namespace cait::data_test
