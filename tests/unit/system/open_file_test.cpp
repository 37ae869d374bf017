#include "system/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <string>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "system/digest.h"
#include "system/file_bytes.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

std::string error_of_opening(const fs::path& path) {
    try {
        const OpenFile file(path);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(OpenFile, ReadsPieceByPiece) {
    const TemporaryFolder folder;
    write_file(folder / "file", "abcdefg");
    OpenFile file(folder / "file");
    EXPECT_EQ(file.size(), 7U);
    std::array<std::byte, 4> buffer{};
    EXPECT_EQ(file.read(buffer), 4U);
    EXPECT_EQ(buffer[3], std::byte{'d'});
    EXPECT_EQ(file.read(buffer), 3U);
    EXPECT_EQ(file.read(buffer), 0U);
}

TEST(OpenFile, NamesWhatIsNoRegularFileAndNeverWaits) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    fs::create_symlink(folder / "pipe", folder / "link");
    for (const char* name : {"pipe", "link"}) {
        EXPECT_EQ(error_of_opening(folder / name),
                  (folder / name).string() + ": expected a regular file, found a pipe");
        EXPECT_THROW(read_text(folder / name), Error);
        EXPECT_THROW(file_digest(folder / name, DigestKind::md5), Error);
    }
    EXPECT_EQ(error_of_opening(folder.path()),
              folder.path().string() + ": expected a regular file, found a folder");
    EXPECT_EQ(error_of_opening("/dev/zero"), "/dev/zero: expected a regular file, found a device");
    EXPECT_EQ(error_of_opening(folder / "missing"),
              (folder / "missing").string() + ": cannot open: No such file or directory");
}

TEST(OpenFile, AFileIsTheSameByAnyOfItsNames) {
    const TemporaryFolder folder;
    write_file(folder / "a", "1");
    write_file(folder / "b", "1");
    fs::create_symlink("a", folder / "soft");
    fs::create_hard_link(folder / "a", folder / "hard");
    EXPECT_EQ(file_id(folder / "a"), file_id(folder / "soft"));
    EXPECT_EQ(file_id(folder / "a"), file_id(folder / "hard"));
    EXPECT_EQ(file_id(folder / "a"), OpenFile(folder / "a").id());
    EXPECT_NE(file_id(folder / "a"), file_id(folder / "b"));
    EXPECT_FALSE(file_id(folder / "c"));
}

}  // namespace
}  // namespace cait
