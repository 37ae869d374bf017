#include "system/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

TEST(AtomicFile, ShowsTheNewFileOnlyAfterCommit) {
    const TemporaryFolder folder;
    write_file(folder / "weights", "old");
    AtomicFile file(folder / "weights");
    file.write("new ");
    file.write("content");
    EXPECT_EQ(read_file(folder / "weights"), "old");
    file.commit();
    EXPECT_EQ(read_file(folder / "weights"), "new content");
    EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
    const TemporaryFolder folder;
    {
        AtomicFile file(folder / "weights");
        file.write("half a");
        EXPECT_EQ(folder.file_count(), 1);
    }
    EXPECT_EQ(folder.file_count(), 0);
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileThatItReplaces) {
    const TemporaryFolder folder;
    write_file(folder / "weights", "old");
    ASSERT_EQ(::chmod((folder / "weights").c_str(), 0640), 0);
    AtomicFile file(folder / "weights");
    file.commit();
    struct stat info {};
    ASSERT_EQ(::stat((folder / "weights").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640U);
}

TEST(AtomicFile, GivesANewFileThePermissionsOfTheUmask) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(027);
    AtomicFile file(folder / "weights");
    file.commit();
    ::umask(before);
    struct stat info {};
    ASSERT_EQ(::stat((folder / "weights").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640U);
}

TEST(AtomicFile, NamesTheFileThatItCannotCreate) {
    const TemporaryFolder folder;
    try {
        const AtomicFile file(folder / "no/such/folder");
        FAIL() << "expected an Error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr((folder / "no/such/folder").string()));
        EXPECT_THAT(error.what(), testing::HasSubstr("No such file or directory"));
    }
}

// A limit on the file size stands in for a full disk: both make write() fail half way.
TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
    const TemporaryFolder folder;
    write_file(folder / "weights", "old");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            AtomicFile file(folder / "weights");
            file.write(std::string(1 << 20, 'x'));
            file.commit();
        } catch (const Error& error) {
            ::_exit(std::string(error.what()).find("cannot write") == std::string::npos ? 2 : 1);
        }
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(read_file(folder / "weights"), "old");
    EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, KeepsTheOldFileWhenKilled) {
    const TemporaryFolder folder;
    write_file(folder / "weights", "old");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        AtomicFile file(folder / "weights");
        file.write(std::string(1 << 20, 'x'));
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(read_file(folder / "weights"), "old");
    EXPECT_EQ(folder.file_count(), 2);

    AtomicFile file(folder / "weights");  // takes over what is left
    file.write("new");
    EXPECT_EQ(folder.file_count(), 2);
    clear_stale_temporaries(*Folder::open(folder.path()));  // not that of a living writer
    file.commit();
    EXPECT_EQ(read_file(folder / "weights"), "new");
    EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, ClearsWhatDeadWritersHaveLeft) {
    const TemporaryFolder folder;
    for (const char* name : {"a.tmp.0", "b.safetensors.tmp.12", "c.tmp.x", "d.tmp.", "e.tmp"})
        write_file(folder / name, "text");
    std::filesystem::create_symlink("c.tmp.x", folder / "f.tmp.0");
    clear_stale_temporaries(*Folder::open(folder.path()));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tmp.0"));
    EXPECT_EQ(folder.file_count(), 4);
}

TEST(AtomicFile, TwoWritersOfOneFileDoNotMeet) {
    const TemporaryFolder folder;
    AtomicFile first(folder / "weights"), second(folder / "weights");
    first.write("first");
    second.write("second");
    first.commit();
    second.commit();
    EXPECT_EQ(read_file(folder / "weights"), "second");
    EXPECT_EQ(folder.file_count(), 1);
}

TEST(AtomicFile, DoesNotReplaceWhatIsNoFileAnyMore) {
    const TemporaryFolder folder;
    AtomicFile file(folder / "weights");
    ASSERT_EQ(::mkfifo((folder / "weights").c_str(), 0600), 0);
    EXPECT_THROW(file.commit(), Error);
    EXPECT_TRUE(std::filesystem::is_fifo(folder / "weights"));
}

}  // namespace
}  // namespace cait
