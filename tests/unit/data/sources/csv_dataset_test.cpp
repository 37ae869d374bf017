#include "data/sources/csv_dataset.h"

#include "data/formats/csv_reader.h"
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
    CsvReader reader(text, "t.csv");
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    while (reader.next(row)) rows.push_back(row);
    return rows;
}

TEST(Csv, ReadsQuotesLineEndsAndByteOrderMark) {
    EXPECT_THAT(
        rows_of("\xef\xbb\xbf"
                "a,b\r\n1,\"x, \"\"y\"\"\nz\"\n\n,\n"),
        ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "x, \"y\"\nz"), ElementsAre("", "")));
    EXPECT_THAT(rows_of("a"), ElementsAre(ElementsAre("a")));
    EXPECT_TRUE(rows_of("").empty());
    EXPECT_THAT(error_of([] { rows_of("a\n\"b\nc"); }),
                HasSubstr("t.csv:2: a quoted field has no"));
    EXPECT_THAT(error_of([] { rows_of("\"a\"b"); }), HasSubstr("expected a comma"));
}

TEST(Csv, RefusesWhatNoTableHas) {
    const std::string most(65536, 'x');
    EXPECT_THAT(rows_of("a\n" + most + "\n\"" + most + "\"\n"),
                ElementsAre(ElementsAre("a"), ElementsAre(most), ElementsAre(most)));
    for (const std::string& field : {most + "x", "\"" + most + "x\"", "\"" + most + "x"})
        EXPECT_THAT(error_of([&] { rows_of("a\n" + field); }),
                    HasSubstr("t.csv:2: expected at most 65536 bytes in a field, found more"));
    EXPECT_THAT(error_of([] { rows_of("a\nb,c" + std::string(1, '\0')); }),
                HasSubstr("t.csv:2: expected text, found a byte of value 0"));
    EXPECT_EQ(rows_of("a" + std::string(9999, ',')).front().size(), 10'000U);
    EXPECT_THAT(error_of([] { rows_of("a" + std::string(10'000, ',')); }),
                HasSubstr("t.csv:1: expected at most 10000 fields in a row, found more"));
}

TEST(Csv, FieldsSurviveARoundTrip) {
    for (const std::string text : {"plain", "", "a,b", "say \"hi\"", "two\nlines", "\""}) {
        const std::string line = csv_field(text) + "," + csv_field("end") + "\n";
        EXPECT_THAT(rows_of(line), ElementsAre(ElementsAre(text, "end")));
    }
}

// A list of classes in another order than their numbers: names win.
TEST(CsvDataset, ClassesThatAreNumbersAreNames) {
    const TemporaryFolder folder;
    put(folder / "list.csv", "path,label\na.png,0\nb.png,2\nc.png,1\n");
    const std::string uri = "csv:" + (folder / "list.csv").string() + "?classes=";
    const auto open = [&](const std::string& classes) {
        put(folder / "classes.txt", classes);
        return open_dataset(uri + (folder / "classes.txt").string());
    };
    const DatasetPtr turned = open("2\n0\n1\n");
    EXPECT_THAT(turned->classes(), ElementsAre("2", "0", "1"));
    EXPECT_THAT(labels_of(*turned), ElementsAre(1, 0, 2));
    EXPECT_THAT(turned->notes(),
                ElementsAre(HasSubstr("list.csv: labels are taken for names of classes")));
    EXPECT_THAT(labels_of(*open("7\n2\n1\n0\n")), ElementsAre(3, 1, 2));
    const DatasetPtr named = open("cat\ndog\neel\n");
    EXPECT_THAT(labels_of(*named), ElementsAre(0, 2, 1));
    EXPECT_TRUE(named->notes().empty());
    EXPECT_TRUE(open("0\n1\n2\n")->notes().empty());
    // The notes stay with what is made of it.
    EXPECT_EQ(subset(turned, {0})->notes().size(), 1U);
}

TEST(CsvDataset, ReadsPathsRelativeToTheFile) {
    const TemporaryFolder folder;
    put_image(folder / "images/one, two.png", 1);
    put_image(folder / "images/b.png", 2);
    put(folder / "list.csv",
        "label,extra,path\ncat,x,\"images/one, two.png\"\nant,,images/b.png\n");
    const DatasetPtr dataset = open_dataset("csv:" + (folder / "list.csv").string());
    EXPECT_THAT(dataset->classes(), ElementsAre("ant", "cat"));
    EXPECT_THAT(labels_of(*dataset), ElementsAre(1, 0));
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(1, 2));
}

TEST(CsvDataset, ColumnsAndRootCanBeChosen) {
    const TemporaryFolder folder;
    put_image(folder / "images/a.png", 1);
    put(folder / "lists/l.csv", "file,genus\na.png,Canis\n");
    const std::string uri = "csv:" + (folder / "lists/l.csv").string() +
                            "?path=file&label=genus&root=" + (folder / "images").string();
    EXPECT_THAT(numbers_of(*open_dataset(uri)), ElementsAre(1));
}

TEST(CsvDataset, NumbersArePositionsThatAFileMayName) {
    const TemporaryFolder folder;
    put(folder / "l.csv", "path,label\na.png,10\nb.png,2\n");
    const std::string uri = "csv:" + (folder / "l.csv").string();
    EXPECT_THAT(open_dataset(uri)->classes(), ElementsAre("2", "10"));
    put(folder / "c.txt", "c0\nc1\nc2\nc3\nc4\nc5\nc6\nc7\nc8\nc9\nc10\n");
    const auto named = open_dataset(uri + "?classes=" + (folder / "c.txt").string());
    EXPECT_THAT(labels_of(*named), ElementsAre(10, 2));
    EXPECT_EQ(named->classes().at(10), "c10");
}

TEST(CsvDataset, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const auto message = [&](const std::string& text) {
        put(folder / "l.csv", text);
        return error_of([&] { open_dataset("csv:" + (folder / "l.csv").string()); });
    };
    EXPECT_THAT(message(""), HasSubstr("expected a header row"));
    EXPECT_THAT(message("file,label\n"), HasSubstr("expected a column 'path', found 'file,label'"));
    EXPECT_THAT(message("path,label\n"), HasSubstr("holds no images"));
    EXPECT_THAT(message("path,label\na.png,1\nb.png\n"), HasSubstr("l.csv:3: expected 2 fields"));
    EXPECT_THAT(message("path,label\na.png,\n"), HasSubstr("l.csv:2: the label is empty"));
}

TEST(CsvDataset, WritesWhatItReads) {
    const TemporaryFolder folder;
    put_class_folders(folder / "set", 2, 2);
    put_image(folder / "set/with, comma/x.png", 9);
    const DatasetPtr all = open_dataset("folder:" + (folder / "set").string());
    const std::vector<std::size_t> indices{4, 1};
    write_csv_dataset(*all, indices, folder / "some.csv");
    EXPECT_EQ(read_file(folder / "some.csv"),
              "path,label\n\"set/with, comma/x.png\",\"with, comma\"\nset/class0/1.png,class0\n");
    EXPECT_THAT(numbers_of(*open_dataset("csv:" + (folder / "some.csv").string())),
                ElementsAre(9, 1));
    // From a folder beside the images the paths are absolute.
    fs::create_directory(folder / "lists");
    write_csv_dataset(*all, indices, folder / "lists/some.csv");
    EXPECT_THAT(numbers_of(*open_dataset("csv:" + (folder / "lists/some.csv").string())),
                ElementsAre(9, 1));
}

}  // namespace
}  // namespace cait::data_test
