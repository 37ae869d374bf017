#include "data/sources/tar_shards.h"

#include "data/formats/tar_archive.h"
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string tar_shards_member(const std::string& name, const std::string& content) {
    return tar_header(name, content.size()) + content + tar_padding(content.size());
}

std::string numbered(int number) { return png(numbered_image(number)); }

// Changes header fields and mends the checksum.
std::string patched(std::string archive, std::size_t at, const std::string& text) {
    archive.replace(at, text.size(), text);
    archive.replace(148, 8, "        ");
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[i]);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    return archive.replace(148, 7, digits, 7);
}

std::vector<std::string> names_in(const std::string& archive) {
    TarReader reader(std::as_bytes(std::span(archive)), "t.tar");
    std::vector<std::string> names;
    TarMember entry;
    while (reader.next(entry))
        names.push_back(
            entry.name + "=" +
            std::string(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()));
    return names;
}

TEST(TarArchive, ReadsPlainPaxAndGnuNames) {
    EXPECT_THAT(names_in(tar_shards_member("a", "1") + tar_shards_member("b", "") + tar_end()),
                ElementsAre("a=1", "b="));
    const std::string long_name = std::string(120, 'n') + ".png";
    const std::string record = " path=" + long_name + "\n";
    const std::string pax =
        patched(tar_shards_member("pax", std::to_string(record.size() + 3) + record), 156, "x");
    EXPECT_THAT(names_in(pax + tar_shards_member("short", "1") + tar_shards_member("c", "2")),
                ElementsAre(long_name + "=1", "c=2"));
    const std::string gnu = patched(tar_shards_member("././@LongLink", long_name + '\0'), 156, "L");
    EXPECT_THAT(names_in(gnu + tar_shards_member("short", "1")), ElementsAre(long_name + "=1"));
    const std::string prefixed = patched(tar_shards_member("x", "1"), 345, "some/folder");
    EXPECT_THAT(names_in(prefixed), ElementsAre("some/folder/x=1"));
    EXPECT_THAT(
        names_in(patched(tar_shards_member("dir/", ""), 156, "5") + tar_shards_member("a", "1")),
        ElementsAre("a=1"));
    EXPECT_THAT(names_in(tar_shards_member("last", "1").substr(0, 513)),
                ElementsAre("last=1"));  // no padding
}

TEST(TarArchive, KnowsWhetherItsEndIsThere) {
    const auto has_end = [](const std::string& archive) {
        TarReader reader(std::as_bytes(std::span(archive)), "t.tar");
        for (TarMember entry; reader.next(entry);) {
        }
        return reader.has_end();
    };
    const std::string whole =
        tar_shards_member("a", "1") + tar_shards_member("b", "22") + tar_end();
    EXPECT_TRUE(has_end(whole));
    EXPECT_TRUE(has_end(whole + std::string(9000, '\0')));  // as tar pads
    for (const std::size_t missing : {1, 512, 513, 1023, 1024, 1500})
        EXPECT_FALSE(has_end(whole.substr(0, whole.size() - missing))) << missing;
}

TEST(TarArchive, RefusesBrokenHeaders) {
    const std::string good = tar_shards_member("a", "12345");
    EXPECT_THAT(error_of([&] { names_in(good.substr(0, 514)); }),
                HasSubstr("truncated: 'a' at byte 512 needs 5 bytes, 2 left"));
    std::string wrong = good;
    wrong[0] = 'b';
    EXPECT_THAT(error_of([&] { names_in(wrong); }), HasSubstr("no tar header at byte 0"));
    EXPECT_THAT(error_of([&] { names_in(patched(good, 124, "77777777777")); }),
                HasSubstr("truncated"));
    EXPECT_THAT(
        error_of([&] { names_in(patched(good, 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff")); }),
        HasSubstr("no tar header"));
    EXPECT_THAT(error_of([&] { names_in(patched(good, 124, "x")); }), HasSubstr("no tar header"));
    EXPECT_THAT(error_of([&] { names_in(""); }), HasSubstr("truncated"));
    EXPECT_THAT(
        error_of([&] { names_in(patched(tar_shards_member("p", "999 path=x\n"), 156, "x")); }),
        HasSubstr("broken extended header"));
    EXPECT_THAT(
        error_of([&] { names_in(patched(tar_shards_member("p", "12 size=1e9\n"), 156, "x")); }),
        HasSubstr("expected a number"));
}

TEST(TarShards, GroupsMembersByKey) {
    const TemporaryFolder folder;
    put(folder / "000.tar",
        tar_shards_member("d/a.cls", "1\n") + tar_shards_member("d/a.png", numbered(10)) +
            tar_shards_member("d/a.seg.png", "no") + tar_shards_member("d/b.PNG", numbered(11)) +
            tar_shards_member("d/b.txt", "a caption") +
            tar_shards_member("d/b.json", R"({"label": 0, "w": [1]})") +
            tar_shards_member("README", "x") + tar_end());
    put(folder / "001.tar",
        tar_shards_member("c.png", numbered(12)) + tar_shards_member("c.cls", "10") + tar_end());
    const DatasetPtr dataset = open_dataset("tar:" + (folder / "{000..001}.tar").string());
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(10, 11, 12));
    EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "10"));
    EXPECT_THAT(labels_of(*dataset), ElementsAre(1, 0, 2));
    EXPECT_THAT(dataset->stretches(), ElementsAre(0, 2));
    EXPECT_THAT(dataset->name(1), HasSubstr("000.tar: d/b.PNG"));
    EXPECT_EQ(open_dataset("tar:" + folder.path().string())->size(), 3U);
}

TEST(TarShards, TakesNamesFromTheFileBeside) {
    const TemporaryFolder folder;
    put(folder / "0.tar",
        tar_shards_member("a.png", numbered(1)) + tar_shards_member("a.cls", "2") + tar_end());
    put(folder / "classes.txt", "2\n1\n0\n");  // names that look like numbers stay names
    const DatasetPtr dataset = open_dataset("tar:" + (folder / "0.tar").string());
    EXPECT_EQ(dataset->label(0), 2);
    EXPECT_EQ(dataset->classes().at(2), "0");
    put(folder / "classes.txt", "only\n");
    EXPECT_THAT(error_of([&] { open_dataset("tar:" + (folder / "0.tar").string()); }),
                HasSubstr("classes.txt: class number '2': expected a number below 1"));
}

TEST(TarShards, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const auto message = [&](const std::string& archive) {
        put(folder / "t.tar", archive);
        return error_of([&] { open_dataset("tar:" + (folder / "t.tar").string()); });
    };
    EXPECT_THAT(message(tar_shards_member("a.png", numbered(1)) + tar_end()),
                HasSubstr("t.tar: a: has no label: expected a.cls, .json or .txt"));
    EXPECT_THAT(
        message(tar_shards_member("a.png", "x") + tar_shards_member("a.json", "[1]") + tar_end()),
        HasSubstr("t.tar: a.json: expected an object"));
    EXPECT_THAT(
        message(tar_shards_member("a.png", "x") + tar_shards_member("a.cls", " \n") + tar_end()),
        HasSubstr("the label is empty"));
    EXPECT_THAT(message(tar_end()), HasSubstr("holds no images"));
    EXPECT_THAT(message("text"), HasSubstr("truncated"));
    EXPECT_THAT(error_of([&] { open_dataset("tar:" + (folder / "{0..1}.tar").string()); }),
                HasSubstr("0.tar: cannot open"));
}

}  // namespace
}  // namespace cait::data_test
