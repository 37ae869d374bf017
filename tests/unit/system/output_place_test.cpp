#include "system/output_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

TEST(OutputPlace, FollowsLinksToWhereTheFileIsOrWillBe) {
    const TemporaryFolder folder;
    fs::create_directory(folder / "place");
    write_file(folder / "place/file", "1");
    fs::create_symlink("place/file", folder / "link");
    fs::create_symlink(folder / "link", folder / "link2");
    fs::create_symlink("place/new", folder / "dangling");
    EXPECT_EQ(output_place(folder / "link2").path, folder / "place/file");
    EXPECT_EQ(output_place(folder / "dangling").path, folder / "place/new");
    EXPECT_EQ(output_place(folder / "new").path, folder / "new");
    EXPECT_EQ(output_place("new").path, "new");
    EXPECT_FALSE(output_place(folder / "link2").direct);
    fs::create_symlink("circle", folder / "circle");
    EXPECT_THROW(output_place(folder / "circle"), Error);
}

TEST(OutputPlace, DevicesAndPipesAreWrittenToAsTheyAre) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_TRUE(output_place(folder / "pipe").direct);
    EXPECT_TRUE(output_place("/dev/null").direct);
    EXPECT_EQ(output_place("/dev/null").descriptor, -1);
    EXPECT_EQ(output_place("/dev/stdout").descriptor, STDOUT_FILENO);
    EXPECT_EQ(output_place("/proc/self/fd/2").descriptor, STDERR_FILENO);
}

TEST(OutputPlace, RefusesFoldersAndSockets) {
    const TemporaryFolder folder;
    EXPECT_THROW(output_place(folder.path()), Error);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    try {
        output_place(folder / "socket");
        ADD_FAILURE() << "expected an Error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("found a socket"));
    }
    ::close(fd);
}

}  // namespace
}  // namespace cait
