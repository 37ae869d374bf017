#include "system/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

std::string error_of_mapping(const std::filesystem::path& path) {
    try {
        MappedFile::open(path);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
    const TemporaryFolder folder;
    std::string content(10'000, 'a');
    content += '\0';
    content += "end";
    write_file(folder / "file", content);
    EXPECT_EQ(text_of(*MappedFile::open(folder / "file")), content);
}

TEST(MappedFile, AcceptsAnEmptyFile) {
    const TemporaryFolder folder;
    write_file(folder / "file", "");
    EXPECT_TRUE(MappedFile::open(folder / "file")->bytes().empty());
}

// Saving over a file that is still mapped must not disturb its reader.
TEST(MappedFile, OutlivesTheReplacementOfTheFile) {
    const TemporaryFolder folder;
    write_file(folder / "file", "old");
    const auto file = MappedFile::open(folder / "file");
    write_file(folder / "other", "new!");
    std::filesystem::rename(folder / "other", folder / "file");
    EXPECT_EQ(text_of(*file), "old");
}

TEST(MappedFile, NamesTheFileThatItCannotOpen) {
    const TemporaryFolder folder;
    EXPECT_EQ(error_of_mapping(folder / "missing"),
              (folder / "missing").string() + ": cannot open: No such file or directory");
}

TEST(MappedFile, RefusesAFolder) {
    const TemporaryFolder folder;
    EXPECT_EQ(error_of_mapping(folder.path()),
              folder.path().string() + ": expected a regular file, found a folder");
}

TEST(MappedFile, RefusesADevice) {
    EXPECT_EQ(error_of_mapping("/dev/zero"), "/dev/zero: expected a regular file, found a device");
}

}  // namespace
}  // namespace cait
