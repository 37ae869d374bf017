// Pictures of an index: files and records, and what an index from elsewhere cannot reach.
#include "search/indexed_images.h"

#include <gmock/gmock.h>

#include "core/file_bytes.h"
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using data_test::error_of;
using testing::HasSubstr;

class IndexedImagesTest : public testing::Test {
protected:
    IndexedImagesTest() {
        data_test::put_image(folder_ / "photos/a.png", 10);
        data_test::put_image(folder_ / "photos/b.png", 20);
        data_test::put_image(folder_ / "secret.png", 30);
        data_test::put_image(folder_ / "photos-too/c.png", 40);
    }
    std::string at(const std::string& name) const { return (folder_ / name).string(); }
    EmbeddedSet files(std::vector<std::string> names) const {
        EmbeddedSet set;
        set.indices.resize(names.size());
        set.names = std::move(names);
        return set;
    }

    const TemporaryFolder folder_;
};

int number_of(const Image& image) { return image.pixels.at(0); }

TEST_F(IndexedImagesTest, AreReadByTheNamesThatWereWrittenDown) {
    const EmbeddedSet set = files({at("photos/a.png"), at("secret.png"), at("gone.png")});
    const IndexedImages images(set);
    EXPECT_EQ(number_of(images.read(0)), 10);
    EXPECT_EQ(number_of(images.read(1)), 30);
    EXPECT_THAT(error_of([&] { images.read(2); }), HasSubstr("gone.png"));
}

TEST_F(IndexedImagesTest, OnlyThoseBelowAFolderWhereThatIsGiven) {
    fs::create_symlink(folder_ / "secret.png", folder_ / "photos/link.png");
    fs::create_symlink(folder_ / "photos/b.png", folder_ / "photos/own.png");
    fs::create_directory_symlink(folder_ / "photos", folder_ / "also");
    const EmbeddedSet set =
        files({at("photos/a.png"), at("photos/own.png"), at("also/b.png"), at("secret.png"),
               at("photos/link.png"), at("photos/../secret.png"), at("photos-too/c.png"),
               at("photos"), at("photos/gone.png")});
    for (const char* below : {"photos", "also", "photos/"}) {
        const IndexedImages images(set, folder_ / below);
        EXPECT_EQ(number_of(images.read(0)), 10);
        EXPECT_EQ(number_of(images.read(1)), 20);
        EXPECT_EQ(number_of(images.read(2)), 20);
        for (std::size_t row = 3; row < 7; ++row)
            EXPECT_THAT(error_of([&] { images.read(row); }), HasSubstr("expected a file below"))
                << row;
        EXPECT_THAT(error_of([&] { images.read(7); }), HasSubstr("a folder"));
        EXPECT_THAT(error_of([&] { images.read(8); }), HasSubstr("cannot open"));
    }
}

TEST_F(IndexedImagesTest, RecordsComeFromTheirDataSet) {
    for (const int label : {1, 2, 3, 4, 5})
        data_test::put(folder_ / ("set/data_batch_" + std::to_string(label) + ".bin"),
                       std::string(1, char(label)) + std::string(3072, char(10 * label)));
    data_test::put(folder_ / "set/batches.meta.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    EmbeddedSet set;
    set.data = "cifar10:" + at("set");
    set.part = "train";
    const DatasetPtr dataset = open_dataset(set.data, Split::train);
    set.names = {dataset->name(3), dataset->name(1), "another: record 0"};
    set.indices = {3, 1, 0};
    const IndexedImages images(set, folder_ / "set");
    EXPECT_EQ(number_of(images.read(0)), 40);
    EXPECT_EQ(number_of(images.read(1)), 20);
    // Another image in its place is never shown.
    EXPECT_THAT(error_of([&] { images.read(2); }), HasSubstr("as when the index was made"));
    set.indices[2] = 7;
    EXPECT_THAT(error_of([&] { images.read(2); }), HasSubstr("found 5 images"));
    EXPECT_THAT(error_of([&] { IndexedImages(set, folder_ / "photos"); }),
                HasSubstr("expected the images of the index below"));
}

// Images of a folder are found although the data set's name was relative to another place.
TEST_F(IndexedImagesTest, FilesOfADataSetNeedNoDataSet) {
    EmbeddedSet set = files({at("photos/b.png")});
    set.data = "folder:somewhere/else";
    EXPECT_EQ(number_of(IndexedImages(set, folder_ / "photos").read(0)), 20);
}

}  // namespace
}  // namespace cait
