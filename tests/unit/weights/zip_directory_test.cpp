#include "weights/zip_directory.h"

#include "unit/weights/support.h"
#include "weights/byte_reader.h"

namespace cait::test {
namespace {

using ::testing::HasSubstr;

// One entry as it stands in an archive made by hand; every field can be set wrong.
struct Entry {
    std::string name = "a";
    std::string content = "hello";
    std::uint16_t flags = 0, method = 0;
    std::string local_name = name;
    std::uint32_t stored = std::uint32_t(content.size()), size = stored;
    std::string extra = {};
    std::int64_t shift = 0;  // added to the offset of the local header
};

std::string local_header(const Entry& e) {
    return "PK\x03\x04" + little_endian<std::uint16_t>(20) + little_endian(e.flags) +
           little_endian(e.method) + std::string(8, '\0') + little_endian(e.stored) +
           little_endian(e.size) + little_endian(std::uint16_t(e.local_name.size())) +
           little_endian<std::uint16_t>(3) + e.local_name + "pad" + e.content;
}

std::string central_header(const Entry& e, std::uint32_t offset) {
    return "PK\x01\x02" + std::string(4, '\0') + little_endian(e.flags) + little_endian(e.method) +
           std::string(8, '\0') + little_endian(e.stored) + little_endian(e.size) +
           little_endian(std::uint16_t(e.name.size())) +
           little_endian(std::uint16_t(e.extra.size())) + std::string(10, '\0') +
           little_endian(offset) + e.name + e.extra;
}

std::string end_record(std::uint16_t count, std::uint32_t size, std::uint32_t offset,
                       const std::string& comment = "") {
    return "PK\x05\x06" + std::string(4, '\0') + little_endian(count) + little_endian(count) +
           little_endian(size) + little_endian(offset) +
           little_endian(std::uint16_t(comment.size())) + comment;
}

std::string archive(const std::vector<Entry>& entries, const std::string& comment = "") {
    std::string body, directory;
    for (const Entry& entry : entries) {
        directory += central_header(entry, std::uint32_t(std::int64_t(body.size()) + entry.shift));
        body += local_header(entry);
    }
    return body + directory +
           end_record(std::uint16_t(entries.size()), std::uint32_t(directory.size()),
                      std::uint32_t(body.size()), comment);
}

std::string read_entry(const std::string& bytes, std::string_view name) {
    const auto found = ZipDirectory::read(as_bytes(bytes), "file").find(name);
    return found ? std::string(as_text(*found)) : "(none)";
}

std::string zip_error(const std::string& bytes) {
    return error_of([&] { ZipDirectory::read(as_bytes(bytes), "file"); });
}

TEST(ZipDirectory, FindsStoredEntries) {
    const std::string bytes =
        archive({{.name = "b", .content = "one"}, {.name = "a", .content = ""}});
    EXPECT_EQ(read_entry(bytes, "b"), "one");
    EXPECT_EQ(read_entry(bytes, "a"), "");
    EXPECT_EQ(read_entry(bytes, "c"), "(none)");
}

TEST(ZipDirectory, ReadsWhatTorchAndPythonWrite) {
    EXPECT_EQ(read_entry(read_text(data("protocol4.pth")), "protocol4/byteorder"), "little");
    EXPECT_EQ(read_entry(read_text(data("bad_big_endian.pth")), "protocol4/byteorder"), "big");
}

TEST(ZipDirectory, AllowsACommentAtTheEnd) {
    EXPECT_EQ(read_entry(archive({{}}, "a comment"), "a"), "hello");
    EXPECT_THAT(zip_error(archive({{}}) + "not a comment"), HasSubstr("no end record"));
}

TEST(ZipDirectory, TakesLargeSizesFromTheZip64Field) {
    const std::string extra = little_endian<std::uint16_t>(1) + little_endian<std::uint16_t>(16) +
                              little_endian<std::uint64_t>(5) + little_endian<std::uint64_t>(5);
    EXPECT_EQ(
        read_entry(archive({{.stored = 0xffffffff, .size = 0xffffffff, .extra = extra}}), "a"),
        "hello");
    EXPECT_THAT(zip_error(archive({{.stored = 0xffffffff, .size = 0xffffffff}})),
                HasSubstr("out of range"));
}

TEST(ZipDirectory, RefusesCompressedAndEncryptedEntries) {
    EXPECT_THAT(zip_error(archive({{.method = 8}})), HasSubstr("'a': compressed entry (method 8)"));
    EXPECT_THAT(zip_error(archive({{.flags = 1}})), HasSubstr("'a': encrypted entry"));
}

TEST(ZipDirectory, RefusesEntriesOutOfRange) {
    EXPECT_THAT(zip_error(archive({{.stored = 500, .size = 500}})), HasSubstr("out of range"));
    EXPECT_THAT(zip_error(archive({{.shift = 1 << 20}})), HasSubstr("'a': out of range"));
    EXPECT_THAT(zip_error(archive({{.shift = 1}})), HasSubstr("no local header"));
    EXPECT_THAT(zip_error(archive({{.stored = 4, .size = 5}})), HasSubstr("claims 5"));
}

TEST(ZipDirectory, RefusesEntriesThatOverlap) {
    // The second entry lies inside the data of the first.
    const std::string inner = local_header({.name = "b"});
    const Entry outer{.name = "a", .content = inner};
    const std::string body = local_header(outer);
    const std::string directory =
        central_header(outer, 0) +
        central_header({.name = "b"}, std::uint32_t(body.size() - inner.size()));
    EXPECT_THAT(
        zip_error(body + directory +
                  end_record(2, std::uint32_t(directory.size()), std::uint32_t(body.size()))),
        HasSubstr("'b': overlaps"));
}

TEST(ZipDirectory, RefusesContradictions) {
    EXPECT_THAT(zip_error(archive({{.name = "a", .local_name = "b"}})), HasSubstr("disagrees"));
    EXPECT_THAT(zip_error(archive({{.name = "a"}, {.name = "a"}})),
                HasSubstr("duplicate entry 'a'"));
    EXPECT_THAT(zip_error(end_record(1, 0, 0)), HasSubstr("do not fit"));
    EXPECT_THAT(zip_error(end_record(0, 1000, 0)), HasSubstr("out of range"));
    EXPECT_THAT(zip_error("PK"), HasSubstr("no end record"));
}

}  // namespace
}  // namespace cait::test
