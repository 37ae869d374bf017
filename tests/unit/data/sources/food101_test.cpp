
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Food101, ReadsItsLists) {
    const TemporaryFolder folder;
    const fs::path root = folder / "food-101";
    put(root / "meta/classes.txt", "waffles\napple_pie\n");
    put(root / "meta/train.txt", "apple_pie/11\r\nwaffles/12\r\n");
    put(root / "meta/test.txt", "apple_pie/13\n");
    for (const char* name : {"apple_pie/11", "waffles/12", "apple_pie/13", "apple_pie/14"})
        put_image(root / "images" / (std::string(name) + ".jpg"),
                  std::stoi(std::string(name).substr(std::string(name).find('/') + 1)));
    const std::string uri = "food101:" + folder.path().string();
    const DatasetPtr train = open_dataset(uri);
    EXPECT_THAT(train->classes(), ElementsAre("waffles", "apple_pie"));
    EXPECT_THAT(numbers_of(*train), ElementsAre(11, 12));
    EXPECT_THAT(labels_of(*train), ElementsAre(1, 0));
    EXPECT_THAT(numbers_of(*open_dataset(uri, Split::val)), ElementsAre(13));
    EXPECT_TRUE(validates_on_test(uri));
    for (const char* line : {"soup/1", "apple_pie", ""}) {
        put(root / "meta/test.txt", std::string("apple_pie/13\n") + line + "\nwaffles/12\n");
        EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=test"); }),
                    HasSubstr("test.txt:2: expected CLASS/IMAGE"));
    }
}

}  // namespace
}  // namespace cait::data_test
