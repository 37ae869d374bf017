#include "data/sources/image_folder.h"

#include <sys/stat.h>

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImageFolder, TakesClassesFromTheFirstLevelAndImagesFromAnyDepth) {
    const TemporaryFolder folder;
    put_image(folder / "b/2.png", 4);
    put_image(folder / "a/x.PNG", 1);
    put_image(folder / "a/deep/er/y.png", 3);
    put_image(folder / "a/deep/z.png", 2);
    put_image(folder / "b/10.png", 5);
    put_image(folder / "b/.hidden.png", 9);
    put_image(folder / ".cache/1.png", 9);
    put_image(folder / "loose.png", 9);
    put(folder / "b/notes.txt", "not an image");
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    EXPECT_THAT(dataset->classes(), ElementsAre("a", "b"));
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(1, 2, 3, 5, 4));  // "10" before "2"
    EXPECT_THAT(labels_of(*dataset), ElementsAre(0, 0, 0, 1, 1));
    EXPECT_EQ(dataset->name(2), (folder / "a/deep/er/y.png").string());
    EXPECT_EQ(dataset->image(2), numbered_image(3));
    EXPECT_EQ(dataset->image(2, 1).channels, 1);
    EXPECT_EQ(dataset->encoded(0)->extension, "PNG");
}

TEST(ImageFolder, SortsNumericNamesAsStrings) {
    const TemporaryFolder folder;
    for (const char* name : {"2", "10", "1"}) put_image(folder / name / "x.png");
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    EXPECT_THAT(dataset->classes(), ElementsAre("1", "10", "2"));
    EXPECT_FALSE(dataset->class_list().numbered);
}

TEST(ImageFolder, FindsThePartThatIsMeant) {
    const TemporaryFolder folder;
    put_class_folders(folder / "train", 2, 3);
    put_class_folders(folder / "val", 2, 1);
    const std::string uri = "folder:" + folder.path().string();
    EXPECT_EQ(open_dataset(uri, Split::train)->size(), 6U);
    EXPECT_EQ(open_dataset(uri, Split::val)->size(), 2U);
    EXPECT_EQ(open_dataset(uri + "?split=val", Split::train)->size(), 2U);
    EXPECT_EQ(open_dataset(uri + "/train", Split::val)->size(), 6U);  // class folders: no choice
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("holds train, val; name one"));
    EXPECT_THAT(dataset_parts(uri), ElementsAre(uri + "?split=train", uri + "?split=val"));
    EXPECT_THAT(dataset_parts(uri + "?split=val"), ElementsAre(uri + "?split=val"));
    EXPECT_THAT(dataset_parts(uri + "/train"), ElementsAre(uri + "/train"));
    EXPECT_THAT(error_of([&] { open_dataset(uri, Split::test); }),
                HasSubstr("expected a folder test, found train, val"));
}

TEST(ImageFolder, RefusesEmptyClassesAndEmptyFolders) {
    const TemporaryFolder folder;
    const std::string uri = "folder:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("found no folder"));
    put_image(folder / "loose.png");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("images lie directly in it"));
    put_image(folder / "full/x.png");
    fs::create_directory(folder / "empty");
    const Failure failure = failure_of([&] { open_dataset(uri); });
    EXPECT_THAT(failure.message, HasSubstr("class folder 'empty' holds no .jpg"));
    EXPECT_EQ(failure.kind, ErrorKind::data);
}

TEST(ImageFolder, FollowsLinksButNotInCircles) {
    const TemporaryFolder folder;
    put_image(folder / "real/a/x.png", 7);
    fs::create_directory(folder / "set");
    fs::create_directory_symlink(folder / "real/a", folder / "set/a");
    EXPECT_THAT(numbers_of(*open_dataset("folder:" + (folder / "set").string())), ElementsAre(7));
    fs::create_directory_symlink(folder / "set", folder / "real/a/back");
    fs::create_directory_symlink(folder / "real/a", folder / "real/a/self");
    EXPECT_THAT(error_of([&] { open_dataset("folder:" + (folder / "set").string()); }),
                HasSubstr("link to a folder that contains it"));
}

// However many ways lead to it: under its own name, or else under that of the first link.
TEST(ImageFolder, WalksEachFolderOnce) {
    const TemporaryFolder folder;
    put_image(folder / "set/a/z/x.png", 7);
    put_image(folder / "outside/y.png", 8);
    fs::create_directories(folder / "set/a/b");
    fs::create_directory_symlink("../z", folder / "set/a/b/first");
    fs::create_directory_symlink("z", folder / "set/a/same");
    fs::create_directory_symlink("../../outside", folder / "set/a/o2");
    fs::create_directory_symlink("../../outside", folder / "set/a/o1");
    fs::create_symlink("circle", folder / "set/a/circle");
    EXPECT_THAT(list_images(folder / "set/a"), ElementsAre("o1/y.png", "z/x.png"));
}

TEST(ImageFolder, MapsAValidationSetByName) {
    const TemporaryFolder folder;
    for (const char* name : {"ant", "bee", "cat"}) put_image(folder / "train" / name / "x.png");
    for (const char* name : {"bee", "cat"}) put_image(folder / "val" / name / "x.png");
    const std::string uri = "folder:" + folder.path().string();
    const auto known = open_dataset(uri, Split::train)->classes();
    const DatasetPtr mapped = with_classes(open_dataset(uri, Split::val), known);
    EXPECT_EQ(mapped->classes(), known);
    EXPECT_THAT(labels_of(*mapped), ElementsAre(1, 2));

    put_image(folder / "val/dog/x.png");
    EXPECT_THAT(error_of([&] { with_classes(open_dataset(uri, Split::val), known); }),
                HasSubstr("class 'dog' is not among the 3 known classes"));
}

TEST(ImageFolder, UnreadableFilesAreErrorsThatNameThem) {
    const TemporaryFolder folder;
    put(folder / "a/text.jpg", "this is no image");
    put(folder / "a/zero.jpg", "");
    put(folder / "a/cut.png", png(numbered_image(1)).substr(0, 40));
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    for (std::size_t i = 0; i < dataset->size(); ++i)
        EXPECT_THAT(error_of([&] { dataset->image(i); }), HasSubstr(dataset->name(i)));
    fs::remove(folder / "a/zero.jpg");
    EXPECT_THAT(error_of([&] { dataset->image(2); }), HasSubstr("cannot open"));
    ASSERT_EQ(::mkfifo((folder / "a/zero.jpg").c_str(), 0600), 0);  // must not wait for a writer
    EXPECT_THAT(error_of([&] { dataset->image(2); }), HasSubstr("expected a regular file"));
}

TEST(ImageFolder, ASubsetKeepsTheClasses) {
    const TemporaryFolder folder;
    put_class_folders(folder.path(), 2, 2);
    const DatasetPtr all = open_dataset("folder:" + folder.path().string());
    const DatasetPtr some = subset(all, {3, 0});
    EXPECT_THAT(numbers_of(*some), ElementsAre(3, 0));
    EXPECT_THAT(labels_of(*some), ElementsAre(1, 0));
    EXPECT_EQ(some->classes(), all->classes());
    EXPECT_THAT(error_of([&] { subset(all, {4}); }), HasSubstr("below 4, found 4"));
}

}  // namespace
}  // namespace cait::data_test
