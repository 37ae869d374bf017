// In processes of their own: what a guard has seen stays with a process.
#include "system/file_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "support/temporary_folder.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

// The exit code of `body`, or minus the signal that ended it.
int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool check_throws(void (*check)(), const std::string& name) {
    try {
        check();
        return false;
    } catch (const FileChanged& change) {
        return std::string(change.what()).find(name + ": changed while in use") !=
               std::string::npos;
    }
}

int sum_of(const MappedFile& file) {
    int sum = 0;
    const volatile std::byte* bytes = file.bytes().data();  // read, whether or not the sum is used
    for (std::size_t i = 0; i < file.bytes().size(); ++i) sum += int(bytes[i]);
    return sum;
}

class FileGuardTest : public testing::Test {
protected:
    static constexpr std::size_t kSize = 3 << 20;
    FileGuardTest() { write_file(folder_ / "file", std::string(kSize, '\1')); }
    TemporaryFolder folder_;
};

TEST_F(FileGuardTest, AShortenedFileReadsAsZerosAndIsNamed) {
    EXPECT_EQ(in_child([&] {
                  install_file_guard();
                  const auto file = MappedFile::open(folder_ / "file");
                  if (sum_of(*file) != int(kSize)) return 1;
                  check_mapped_files();
                  fs::resize_file(folder_ / "file", 8192);
                  if (sum_of(*file) != 8192) return 2;
                  if (!check_throws(check_mapped_files, "file")) return 3;
                  if (!check_throws(check_mapped_files, "file")) return 4;  // and stays so
                  return 0;
              }),
              0);
}

TEST_F(FileGuardTest, ItIsRememberedWhenTheFileIsNoLongerMapped) {
    EXPECT_EQ(in_child([&] {
                  install_file_guard();
                  {
                      const auto file = MappedFile::open(folder_ / "file");
                      fs::resize_file(folder_ / "file", 0);
                      sum_of(*file);
                  }
                  write_file(folder_ / "other", std::string(kSize, '\1'));
                  const auto other = MappedFile::open(folder_ / "other");
                  return check_throws(check_mapped_files, "file") ? 0 : 1;
              }),
              0);
}

TEST_F(FileGuardTest, NothingIsWrittenUntilItIsForgiven) {
    EXPECT_EQ(in_child([&] {
                  install_file_guard();
                  const auto file = MappedFile::open(folder_ / "file");
                  fs::resize_file(folder_ / "file", kSize - 1);  // no signal
                  sum_of(*file);
                  check_mapped_files();
                  try {
                      AtomicFile out(folder_ / "out");
                      out.write("text");
                      out.commit();
                      return 1;
                  } catch (const FileChanged&) {
                  }
                  if (fs::exists(folder_ / "out")) return 2;
                  forgive_changed_files();
                  AtomicFile out(folder_ / "out");
                  out.commit();
                  fs::resize_file(folder_ / "file", 0);
                  sum_of(*file);  // known already
                  check_mapped_files();
                  return fs::exists(folder_ / "out") ? 0 : 3;
              }),
              0);
}

// write() answers by an error, not by a signal.
TEST_F(FileGuardTest, AShortenedFileThatIsWrittenAsItIsIsNamed) {
    EXPECT_EQ(in_child([&] {
                  install_file_guard();
                  const auto file = MappedFile::open(folder_ / "file");
                  fs::resize_file(folder_ / "file", 0);
                  AtomicFile out(folder_ / "out");
                  try {
                      out.write(file->bytes());
                  } catch (const FileChanged&) {
                      return 0;
                  }
                  return 1;
              }),
              0);
}

TEST_F(FileGuardTest, SmallFilesAreReadAndCannotChange) {
    write_file(folder_ / "small", std::string(10'000, '\1'));
    EXPECT_EQ(in_child([&] {  // no guard
                  const auto file = MappedFile::open(folder_ / "small");
                  fs::resize_file(folder_ / "small", 0);
                  recheck_mapped_files();
                  return sum_of(*file) == 10'000 ? 0 : 1;
              }),
              0);
}

TEST_F(FileGuardTest, OtherBusErrorsEndTheProgramAsBefore) {
    EXPECT_EQ(in_child([] {
                  ::signal(SIGBUS, SIG_DFL);  // a sanitizer's own answer aside
                  install_file_guard();
                  ::raise(SIGBUS);
                  ::raise(SIGBUS);  // the first one took the guard away
                  return 0;
              }),
              -SIGBUS);
}

}  // namespace
}  // namespace cait
