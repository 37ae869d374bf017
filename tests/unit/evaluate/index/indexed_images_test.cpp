// Pictures of an index: files and records, and what an index from elsewhere cannot reach.
#include "evaluate/index/indexed_images.h"

#include <gmock/gmock.h>

#include "data/open_dataset.h"
#include "system/file_bytes.h"
#include "unit/data/support.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using data_test::error_of;
using testing::AnyOf;
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
    fs::create_directory_symlink(folder_ / "photos-too", folder_ / "photos/sub");
    fs::create_directory(folder_ / "photos/plain");
    data_test::put(folder_ / "elsewhere.txt", "free");
    const EmbeddedSet set =
        files({at("photos/a.png"), at("also/b.png"), at("photos/own.png"), at("secret.png"),
               at("photos/link.png"), at("photos/../secret.png"), at("photos-too/c.png"),
               at("photos/sub/c.png"), at("also/sub/c.png"), at("photos"), at("photos/plain"),
               at("photos/gone.png")});
    for (const char* below : {"photos", "also", "photos/"}) {
        const IndexedImages images(set, folder_ / below);
        EXPECT_EQ(number_of(images.read(0)), 10);
        EXPECT_EQ(number_of(images.read(1)), 20);
        for (std::size_t row = 2; row < 10; ++row)
            EXPECT_THAT(error_of([&] { images.read(row); }),
                        AnyOf(HasSubstr("expected a file below"), HasSubstr("are not followed")))
                << row;
        EXPECT_THAT(error_of([&] { images.read(10); }), HasSubstr("a folder"));
        EXPECT_THAT(error_of([&] { images.read(11); }), HasSubstr("cannot open"));
        EXPECT_EQ(read_text(folder_ / "elsewhere.txt"), "free");  // the limit ends with each read
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
    const IndexedImages elsewhere(set, folder_ / "photos");
    EXPECT_THAT(elsewhere.problem(), HasSubstr("expected a file below"));
    EXPECT_THAT(error_of([&] { elsewhere.read(0); }), HasSubstr("expected a file below"));
    EXPECT_THAT(error_of([&] { IndexedImages(set, folder_ / "none"); }), HasSubstr("none"));
}

// One file with all images is no way around the folder either, nor a part of it.
TEST_F(IndexedImagesTest, RecordsAreNotReadThroughLinks) {
    data_test::put(folder_ / "mnist/train-images-idx3-ubyte",
                   data_test::uniform_idx({2, 4, 4}, 50));
    data_test::put(folder_ / "mnist/train-labels-idx1-ubyte", data_test::uniform_idx({2}, 1));
    EmbeddedSet set;
    set.data = "mnist:" + at("mnist");
    set.part = "train";
    set.names = {open_dataset(set.data, Split::train)->name(1)};
    set.indices = {1};
    EXPECT_EQ(number_of(IndexedImages(set, folder_ / "mnist").read(0)), 50);
    for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}) {
        const fs::path file = folder_ / "mnist" / name, target = folder_ / "target";
        fs::rename(file, target);
        fs::create_symlink(target, file);
        EXPECT_EQ(number_of(IndexedImages(set).read(0)), 50);  // its owner may
        const IndexedImages images(set, folder_ / "mnist");
        EXPECT_THAT(error_of([&] { images.read(0); }),
                    HasSubstr("links in this folder are not followed"))
            << name;
        fs::remove(file);
        fs::rename(target, file);
    }
    // The whole folder as a link in the folder that is shown.
    fs::create_directory_symlink(folder_ / "mnist", folder_ / "photos/mnist");
    set.data = "mnist:" + at("photos/mnist");
    EXPECT_THAT(error_of([&] { IndexedImages(set, folder_ / "photos").read(0); }),
                HasSubstr("links in this folder are not followed"));
}

// Images of a folder are found although the data set's name was relative to another place.
TEST_F(IndexedImagesTest, FilesOfADataSetNeedNoDataSet) {
    EmbeddedSet set = files({at("photos/b.png")});
    set.data = "folder:somewhere/else";
    EXPECT_EQ(number_of(IndexedImages(set, folder_ / "photos").read(0)), 20);
}

}  // namespace
}  // namespace cait
