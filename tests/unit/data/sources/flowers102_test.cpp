
#include "data/open_dataset.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kFlowers102Data = test::source_path(__FILE__).parent_path() / "../data";

// Seven images whose numbers are their pixels; labels 77, 102, 1, 77, 3, 1, 102.
void put_flowers(const fs::path& root) {
    for (int i = 1; i <= 7; ++i)
        put_image(root / "jpg" / ("image_0000" + std::to_string(i) + ".jpg"), i);
    for (const char* name : {"imagelabels.mat", "setid.mat"})
        fs::copy_file(kFlowers102Data / name, root / name);
}

TEST(Flowers102, HasTheOfficialParts) {
    const TemporaryFolder folder;
    put_flowers(folder.path());
    const std::string uri = "flowers102:" + folder.path().string();
    const auto numbers = [&](const std::string& options, Split hint = Split::any) {
        return numbers_of(*open_dataset(uri + options, hint));
    };
    EXPECT_THAT(numbers(""), ElementsAre(6, 1));                   // trnid
    EXPECT_THAT(numbers("", Split::val), ElementsAre(2));          // valid
    EXPECT_THAT(numbers("?split=test"), ElementsAre(7, 3, 4, 5));  // tstid, not swapped
    EXPECT_THAT(numbers("?split=trainval"), ElementsAre(6, 1, 2));
    EXPECT_TRUE(has_part(uri, Split::val));
    EXPECT_FALSE(validates_on_test(uri));
    EXPECT_TRUE(validates_on_test(uri + "?split=test"));
}

TEST(Flowers102, NumbersItsClassesFromZeroAndTakesNamesFromAFile) {
    const TemporaryFolder folder;
    put_flowers(folder / "flowers-102");
    const std::string uri = "flowers102:" + folder.path().string() + "?split=test";
    const DatasetPtr dataset = open_dataset(uri);
    EXPECT_EQ(dataset->classes().size(), 102U);
    EXPECT_TRUE(dataset->class_list().numbered);
    EXPECT_THAT(labels_of(*dataset), ElementsAre(101, 0, 76, 2));
    std::string names;
    for (int i = 1; i <= 102; ++i) names += "flower " + std::to_string(i) + "\n";
    put(folder / "names.txt", names);
    const DatasetPtr named = open_dataset(uri + "&classes=" + (folder / "names.txt").string());
    EXPECT_EQ(named->classes()[std::size_t(named->label(2))], "flower 77");
}

TEST(Flowers102, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const std::string uri = "flowers102:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected setid.mat in "));
    put_flowers(folder.path());
    fs::copy_file(kFlowers102Data / "setid.mat", folder / "imagelabels.mat",
                  fs::copy_options::overwrite_existing);
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("imagelabels.mat: expected a variable 'labels', found 'trnid"));
    // Labels where image numbers should be: 77 is none of seven images.
    std::string swapped = read_file(kFlowers102Data / "imagelabels_plain.mat");
    swapped.replace(swapped.find("labels"), 6, std::string("valid\0", 6));
    swapped[swapped.find("valid") - 4] = 5;  // length of the name
    fs::copy_file(kFlowers102Data / "imagelabels.mat", folder / "imagelabels.mat",
                  fs::copy_options::overwrite_existing);
    write_file(folder / "setid.mat", swapped);
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=val"); }),
                HasSubstr("setid.mat: valid: expected image numbers from 1 to 7, found 77"));
}

}  // namespace
}  // namespace cait::data_test
