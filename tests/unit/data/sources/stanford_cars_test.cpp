
#include "data/open_dataset.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kStanfordCarsData = test::source_path(__FILE__).parent_path() / "../data";

void put_cars(const fs::path& root) {
    for (int i = 1; i <= 3; ++i) {
        const std::string name = "0000" + std::to_string(i) + ".jpg";
        if (i < 3) put_image(root / "cars_train" / name, i);
        put_image(root / "cars_test" / name, 10 + i);
    }
    fs::create_directories(root / "devkit");
    for (const char* name : {"cars_meta.mat", "cars_train_annos.mat"})
        fs::copy_file(kStanfordCarsData / name, root / "devkit" / name);
    // Published later than the devkit, so people have it beside it.
    fs::copy_file(kStanfordCarsData / "cars_test_annos_withlabels.mat",
                  root / "cars_test_annos_withlabels.mat");
}

TEST(StanfordCars, ReadsTheDevkit) {
    const TemporaryFolder folder;
    put_cars(folder / "stanford_cars");
    const std::string uri = "stanford-cars:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 2));
    EXPECT_THAT(labels_of(*train), ElementsAre(2, 0));
    EXPECT_EQ(train->classes()[2], "Ram C/V Cargo Van Minivan 2012");
    const DatasetPtr test = open_dataset(uri, Split::val);
    EXPECT_THAT(numbers_of(*test), ElementsAre(11, 12, 13));
    EXPECT_THAT(labels_of(*test), ElementsAre(1, 1, 0));
    EXPECT_TRUE(validates_on_test(uri));
}

TEST(StanfordCars, ReadsTheFileThatHasBothParts) {
    const TemporaryFolder folder;
    for (int i = 1; i <= 3; ++i)
        put_image(folder / "car_ims" / ("00000" + std::to_string(i) + ".jpg"), i);
    fs::copy_file(kStanfordCarsData / "cars_annos.mat", folder / "cars_annos.mat");
    const std::string uri = "stanford-cars:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(numbers_of(*train), ElementsAre(1, 3));
    EXPECT_THAT(labels_of(*train), ElementsAre(1, 0));
    EXPECT_THAT(numbers_of(*open_dataset(uri + "?split=test")), ElementsAre(2));
}

TEST(StanfordCars, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    put_cars(folder.path());
    const std::string uri = "stanford-cars:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=trainval"); }),
                HasSubstr("split: expected stanford-cars:PATH?split=train|test"));
    fs::rename(folder / "cars_test_annos_withlabels.mat", folder / "devkit/cars_test_annos.mat");
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=test"); }),
                HasSubstr("cars_test_annos.mat: has no labels; expected"));
    fs::copy_file(kStanfordCarsData / "imagelabels.mat", folder / "devkit/cars_train_annos.mat",
                  fs::copy_options::overwrite_existing);
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("expected a variable 'annotations'"));
}

}  // namespace
}  // namespace cait::data_test
