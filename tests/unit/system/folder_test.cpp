#include "system/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "support/temporary_folder.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"
#include "system/growing_file.h"
#include "system/mapped_file.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

template <class Action>
std::string error_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

// own/ is the folder; what lies beside it is nobody's business in there.
class FolderTest : public testing::Test {
protected:
    FolderTest() {
        fs::create_directories(base_ / "own/sub");
        write_file(base_ / "precious", "precious");
        write_file(base_ / "own/file", "text");
        write_file(base_ / "own/sub/deep", "deep");
        fs::create_symlink("../precious", base_ / "own/link");
        fs::create_symlink("file", base_ / "own/inner");
        fs::create_symlink("../new", base_ / "own/dangling");
        fs::create_directory_symlink("..", base_ / "own/up");
        folder_ = Folder::open(base_ / "own");
    }

    // What must be refused: a link to a file, within the folder too, to nothing, to a folder.
    static constexpr const char* kLinks[] = {"link", "inner", "dangling", "up/precious"};

    TemporaryFolder base_;
    FolderPtr folder_;
};

TEST_F(FolderTest, OpensWhatLiesInItUnderAnyDepth) {
    EXPECT_EQ(read_text({folder_, "file"}), "text");
    EXPECT_EQ(read_text({folder_, "sub/deep"}), "deep");
    EXPECT_EQ(read_text({folder_, "./sub//deep"}), "deep");
    EXPECT_EQ(MappedFile::open({folder_, "sub/deep"})->bytes().size(), 4U);
    EXPECT_EQ(read_text(FilePlace(base_ / "own/link")), "precious");  // a path that a user gave
}

TEST_F(FolderTest, FollowsNoLinkForReading) {
    for (const char* name : kLinks)
        EXPECT_THAT(error_of([&] {
                        read_text({folder_, name});
                    }),
                    AllOf(HasSubstr((base_ / "own" / name).string() + ": expected"),
                          HasSubstr("found a symbolic link")));
}

TEST_F(FolderTest, FollowsNoLinkForWriting) {
    for (const char* name : kLinks) {
        EXPECT_THAT(error_of([&] {
                        AtomicFile({folder_, name}).commit();
                    }),
                    AllOf(HasSubstr((base_ / "own" / name).string() + ": expected"),
                          HasSubstr("found a symbolic link")));
        EXPECT_THAT(error_of([&] {
                        GrowingFile({folder_, name}).write("x");
                    }),
                    HasSubstr("found a symbolic link"));
    }
    EXPECT_EQ(read_file(base_ / "precious"), "precious");
    EXPECT_EQ(read_file(base_ / "own/file"), "text");
    EXPECT_FALSE(fs::exists(base_ / "new"));
    EXPECT_EQ(base_.file_count(), 2);
}

TEST_F(FolderTest, ALinkThatComesBetweenOpeningAndReplacingIsRefused) {
    AtomicFile file({folder_, "result"});
    file.write("new");
    fs::create_symlink("../precious", base_ / "own/result");
    EXPECT_THAT(error_of([&] { file.commit(); }), HasSubstr("no regular file any more"));
    EXPECT_EQ(read_file(base_ / "precious"), "precious");
}

TEST_F(FolderTest, KeepsToTheFolderWhenItsNameIsGivenToAnother) {
    fs::rename(base_ / "own", base_ / "moved");
    fs::create_directory(base_ / "own");
    write_file(base_ / "own/file", "another's");
    EXPECT_EQ(read_text({folder_, "file"}), "text");
    AtomicFile file({folder_, "result"});
    file.write("ours");
    file.commit();
    EXPECT_EQ(read_file(base_ / "moved/result"), "ours");
    EXPECT_FALSE(fs::exists(base_ / "own/result"));
}

TEST_F(FolderTest, NoNameLeadsOut) {
    for (const char* name : {"../precious", "sub/../../precious", "/etc/passwd", ".."}) {
        EXPECT_EQ(open_below(folder_->descriptor(), name, O_RDONLY), -1) << name;
        EXPECT_EQ(errno, EXDEV) << name;
    }
    EXPECT_EQ(open_below(folder_->descriptor(), "", O_RDONLY), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_THAT(error_of([&] {
                    read_text({folder_, "../precious"});
                }),
                HasSubstr("expected a name below " + (base_ / "own").string()));
}

TEST_F(FolderTest, WritesAndReplacesInPlace) {
    for (const char* text : {"one", "another"}) {
        AtomicFile file({folder_, "sub/result"});
        file.write(text);
        file.commit();
        EXPECT_EQ(read_file(base_ / "own/sub/result"), text);
    }
    GrowingFile({folder_, "log"}).write("a");
    GrowingFile({folder_, "log"}).write("b");
    EXPECT_EQ(read_file(base_ / "own/log"), "ab");
    EXPECT_FALSE(GrowingFile::create({folder_, "log"}));
    EXPECT_FALSE(GrowingFile::create({folder_, "dangling"}));
    EXPECT_TRUE(GrowingFile::create({folder_, "second"}));
}

TEST_F(FolderTest, NamesWhatIsNoRegularFile) {
    ASSERT_EQ(::mkfifo((base_ / "own/pipe").c_str(), 0600), 0);
    for (const auto& [name, kind] : {std::pair{"pipe", "a pipe"}, std::pair{"sub", "a folder"}}) {
        const std::string expected = std::string("expected a regular file, found ") + kind;
        EXPECT_THAT(error_of([&] { read_text({folder_, name}); }), HasSubstr(expected));
        EXPECT_THAT(error_of([&] { AtomicFile({folder_, name}).commit(); }), HasSubstr(expected));
        EXPECT_THAT(error_of([&] {
                        GrowingFile({folder_, name}).write("x");
                    }),
                    HasSubstr(expected));
    }
}

TEST_F(FolderTest, MakesAFolderInItAndListsWhatThereIs) {
    EXPECT_EQ(folder_->make_below("sub")->path(), base_ / "own/sub");
    EXPECT_EQ(folder_->make_below("fresh")->names().size(), 0U);
    EXPECT_THAT(error_of([&] { folder_->make_below("up"); }),
                HasSubstr("expected a folder, found a symbolic link"));
    EXPECT_THAT(folder_->names(),
                testing::ElementsAre("dangling", "file", "fresh", "inner", "link", "sub", "up"));
    EXPECT_TRUE(FilePlace(folder_, "dangling").exists());
    EXPECT_FALSE(FilePlace(folder_, "nothing").exists());
}

TEST_F(FolderTest, MayItselfBeReachedThroughALink) {
    fs::create_directory_symlink("own", base_ / "way");
    EXPECT_EQ(read_text({Folder::open(base_ / "way"), "file"}), "text");
    EXPECT_THAT(error_of([&] { Folder::open(base_ / "nothing"); }),
                HasSubstr((base_ / "nothing").string() + ": cannot open the folder"));
}

}  // namespace
}  // namespace cait
