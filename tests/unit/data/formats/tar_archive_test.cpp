// Archives with what a download may hold, and with what it must not.
#include "data/formats/tar_archive.h"

#include <zlib.h>

#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::HasSubstr;

std::string unpack_member(const std::string& name, const std::string& content) {
    return tar_header(name, content.size()) + content + tar_padding(content.size());
}

void unpack_put_gzip(const std::filesystem::path& path, const std::string& content) {
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, content.data(), unsigned(content.size()));
    gzclose(file);
}

TEST(Unpack, FilesAndFolders) {
    const TemporaryFolder folder;
    unpack_put_gzip(folder / "a.tar.gz", unpack_member("batches/one.bin", "12345") +
                                             unpack_member("batches/two.bin", "") + tar_end());
    EXPECT_EQ(unpack_tar_gz(folder / "a.tar.gz", folder.path()), 2U);
    EXPECT_EQ(read_file(folder / "batches" / "one.bin"), "12345");
    EXPECT_TRUE(std::filesystem::exists(folder / "batches" / "two.bin"));
    EXPECT_EQ(unpack_tar_gz(folder / "a.tar.gz", folder.path()), 2U);
}

TEST(Unpack, RefusesWhatIsNotAsExpected) {
    const TemporaryFolder folder;
    const auto failure = [&](const std::string& content) {
        unpack_put_gzip(folder / "a.tar.gz", content);
        return error_of([&] { unpack_tar_gz(folder / "a.tar.gz", folder / "to", 4096); });
    };
    EXPECT_THAT(failure(unpack_member("../out", "1") + tar_end()), HasSubstr("'../out' leads out"));
    EXPECT_THAT(failure(unpack_member("/tmp/out", "1") + tar_end()), HasSubstr("leads out"));
    EXPECT_THAT(failure(std::string(100'000, 'x')), HasSubstr("more than 4096 bytes"));
    EXPECT_THAT(failure("no archive, but long enough to be looked at" + std::string(1000, '.')),
                HasSubstr("a.tar.gz"));
    write_file(folder / "a.tar.gz", "not gzip");
    EXPECT_THAT(error_of([&] { unpack_tar_gz(folder / "a.tar.gz", folder / "to"); }),
                HasSubstr("a.tar.gz"));
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace cait
