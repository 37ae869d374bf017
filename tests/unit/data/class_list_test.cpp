#include "data/class_list.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ClassList, OrdersNamesByBytesAndNumbersByValue) {
    const auto names = index_labels(std::vector<std::string>{"b", "10", "a", "2", "b"});
    EXPECT_THAT(names.classes.names, ElementsAre("10", "2", "a", "b"));
    EXPECT_FALSE(names.classes.numbered);
    EXPECT_THAT(names.labels, ElementsAre(3, 0, 2, 1, 3));

    const auto numbers = index_labels(std::vector<std::string>{"10", "2", "0"});
    EXPECT_THAT(numbers.classes.names, ElementsAre("0", "2", "10"));
    EXPECT_TRUE(numbers.classes.numbered);
    EXPECT_THAT(numbers.labels, ElementsAre(2, 1, 0));
}

TEST(ClassList, ReadsPlainNumbersOnly) {
    EXPECT_EQ(plain_number("0"), 0);
    EXPECT_EQ(plain_number("120"), 120);
    for (const char* text : {"", "07", "-1", "+1", "1.0", "1e3", " 1", "1 ", "9999999999"})
        EXPECT_EQ(plain_number(text), std::nullopt) << text;
}

TEST(ClassList, MapsByName) {
    const std::vector<std::string> known{"cat", "dog", "eel"};
    EXPECT_THAT(map_classes({{"eel", "cat"}, false}, known, "val").positions, ElementsAre(2, 0));
    const Failure failure = failure_of([&] { map_classes({{"cat", "dgo"}, false}, known, "val"); });
    EXPECT_THAT(failure.message, HasSubstr("val: class 'dgo' is not among the 3 known classes"));
    EXPECT_THAT(failure.message, HasSubstr("nearest: 'dog'"));
    EXPECT_EQ(failure.kind, ErrorKind::data);
}

TEST(ClassList, TakesNumbersAsPositionsWhenTheyAreNoNames) {
    const ClassList numbered{{"0", "2"}, true};
    EXPECT_THAT(map_classes(numbered, {"a", "b", "c"}, "v2").positions, ElementsAre(0, 2));
    EXPECT_THAT(map_classes(numbered, {"2", "1", "0"}, "v2").positions, ElementsAre(2, 0));
    // Some are names, each in its own place: 0 to 9 and then letters.
    EXPECT_THAT(map_classes(numbered, {"0", "1", "c"}, "v2").positions, ElementsAre(0, 2));
    EXPECT_THAT(error_of([&] {
                    map_classes(numbered, {"a", "b"}, "v2");
                }),
                HasSubstr("class number '2': expected a number below 2"));
    // Folders that happen to be called by numbers are names all the same.
    EXPECT_THAT(error_of([&] {
                    map_classes({{"0"}, false}, {"a"}, "f");
                }),
                HasSubstr("'0' is not among"));
}

TEST(ClassList, NamesThatAreNumbersWinAndSaySoWhereTheyCouldBePositions) {
    const ClassList numbered{{"0", "2"}, true};
    const ClassMap turned = map_classes(numbered, {"2", "1", "0"}, "v2");
    EXPECT_EQ(turned.note,
              "v2: labels are taken for names of classes, not for positions in their list: 0 is "
              "class '0', not '2'");
    EXPECT_EQ(map_classes(numbered, {"0", "1", "2"}, "v2").note, "");  // the same either way
    EXPECT_EQ(map_classes(numbered, {"2", "0"}, "v2").note, "");       // 2 is no position
    EXPECT_EQ(map_classes(numbered, {"a", "b", "c"}, "v2").note, "");  // no names
    EXPECT_EQ(map_classes({{"0", "2"}, false}, {"2", "1", "0"}, "f").note, "");
    // 2 is a name of another place, so that 0 cannot be a position.
    EXPECT_THAT(error_of([&] {
                    map_classes(numbered, {"1", "2", "3"}, "v2");
                }),
                HasSubstr("v2: class '0' is not among the 3 known classes"));
}

TEST(ClassList, ReadsFilesOfNames) {
    const TemporaryFolder folder;
    write_file(folder / "c.txt", "cat\r\nsea dog\n\n\n");
    EXPECT_THAT(read_class_file(folder / "c.txt"), ElementsAre("cat", "sea dog"));
    write_file(folder / "twice.txt", "cat\ndog\ncat\n");
    EXPECT_THAT(error_of([&] { read_class_file(folder / "twice.txt"); }),
                HasSubstr("twice.txt:3: class 'cat' stands here a second time"));
    write_file(folder / "gap.txt", "cat\n\ndog\n");
    EXPECT_THAT(error_of([&] { read_class_file(folder / "gap.txt"); }), HasSubstr("gap.txt:2"));
    write_file(folder / "none.txt", "\n");
    EXPECT_THAT(error_of([&] { read_class_file(folder / "none.txt"); }), HasSubstr("found none"));
}

}  // namespace
}  // namespace cait::data_test
