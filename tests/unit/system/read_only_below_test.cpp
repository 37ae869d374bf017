#include "system/read_only_below.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "system/file_bytes.h"
#include "system/mapped_file.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReadOnlyBelowTest : public testing::Test {
protected:
    ReadOnlyBelowTest() {
        fs::create_directories(folder_ / "shown/deep/er");
        write_file(folder_ / "shown/a", "in");
        write_file(folder_ / "shown/deep/er/b", "deep");
        write_file(folder_ / "secret", "out");
    }
    // What reading says while only the folder may be read.
    std::string text_of(const std::string& name) const {
        const ReadOnlyBelow scope(Folder::open(folder_ / "shown"));
        try {
            return read_text(folder_ / name);
        } catch (const Error& error) {
            return error.what();
        }
    }

    const TemporaryFolder folder_;
};

TEST_F(ReadOnlyBelowTest, OnlyWhatLiesBelowIsRead) {
    EXPECT_EQ(text_of("shown/a"), "in");
    EXPECT_EQ(text_of("shown/deep/er/b"), "deep");
    EXPECT_EQ(text_of("shown/deep/../a"), "in");
    EXPECT_THAT(text_of("secret"), HasSubstr("expected a file below"));
    EXPECT_THAT(text_of("shown/../secret"), HasSubstr("expected a file below"));
    EXPECT_THAT(text_of("shown"), HasSubstr("expected a file below"));
    EXPECT_THAT(text_of("shown/deep"), HasSubstr("a folder"));
    EXPECT_THAT(text_of("shown/none"), HasSubstr("cannot open"));
    EXPECT_THAT(text_of("shown/none/a"), HasSubstr("cannot open"));
    EXPECT_EQ(read_text(folder_ / "secret"), "out");  // afterwards
}

TEST_F(ReadOnlyBelowTest, NoLinkIsFollowedBelowIt) {
    fs::create_symlink(folder_ / "secret", folder_ / "shown/link");
    fs::create_symlink("a", folder_ / "shown/own");
    fs::create_directory_symlink(folder_.path(), folder_ / "shown/up");
    fs::create_directory_symlink("deep", folder_ / "shown/same");
    for (const char* name : {"shown/link", "shown/own", "shown/up/secret", "shown/same/er/b"})
        EXPECT_THAT(text_of(name), HasSubstr("links in this folder are not followed")) << name;
    // But on the way to it.
    fs::create_directory_symlink("shown", folder_ / "alias");
    EXPECT_EQ(text_of("alias/deep/er/b"), "deep");
    const ReadOnlyBelow scope(Folder::open(folder_ / "alias"));
    EXPECT_EQ(read_text(folder_ / "shown/a"), "in");
}

TEST_F(ReadOnlyBelowTest, HoldsForOneThreadAndForAllReaders) {
    const ReadOnlyBelow scope(Folder::open(folder_ / "shown"));
    EXPECT_THROW(MappedFile::open(folder_ / "secret"), Error);
    EXPECT_EQ(MappedFile::open(folder_ / "shown/a")->bytes().size(), 2U);
    {
        const ReadOnlyBelow narrower(Folder::open(folder_ / "shown/deep"));
        EXPECT_THROW(read_text(folder_ / "shown/a"), Error);
    }
    EXPECT_EQ(read_text(folder_ / "shown/a"), "in");
    std::thread([&] { EXPECT_EQ(read_text(folder_ / "secret"), "out"); }).join();
}

TEST_F(ReadOnlyBelowTest, IsAFolderAndNeverWaits) {
    EXPECT_THROW(Folder::open(folder_ / "none"), Error);
    EXPECT_THROW(Folder::open(folder_ / "secret"), Error);
    ASSERT_EQ(::mkfifo((folder_ / "shown/pipe").c_str(), 0600), 0);
    EXPECT_THAT(text_of("shown/pipe"), HasSubstr("found a pipe"));
}

}  // namespace
}  // namespace cait
