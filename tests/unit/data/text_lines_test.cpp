#include "data/text_lines.h"

#include <sstream>

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TextLines, HaveNoEndsAndNoBlankOnesLast) {
    const TemporaryFolder folder;
    put(folder / "a.txt", "one\r\n\ntwo words\n\n\n");
    EXPECT_THAT(read_lines(folder / "a.txt"), ElementsAre("one", "", "two words"));
    put(folder / "a.txt", "no end");
    EXPECT_THAT(read_lines(folder / "a.txt"), ElementsAre("no end"));
}

TEST(TextLines, ComeFromStreamsToo) {
    std::istringstream in("one\r\n\n" + std::string(70'000, 'x') + "\nend\n\n");
    const LineLimits wide{.line = 70'000};
    EXPECT_THAT(read_lines(in, "in", wide),
                ElementsAre("one", "", std::string(70'000, 'x'), "end"));
}

TEST(TextLines, AreLimited) {
    const TemporaryFolder folder;
    const LineLimits limits{.line = 5, .lines = 3};
    const auto refused = [&](const std::string& text) {
        put(folder / "a.txt", text);
        const std::string of_file = error_of([&] { read_lines(folder / "a.txt", limits); });
        std::istringstream in(text);
        EXPECT_EQ(error_of([&] { read_lines(in, (folder / "a.txt").string(), limits); }), of_file);
        return of_file;
    };
    std::istringstream most("12345\n12345\n12345");
    EXPECT_EQ(read_lines(most, "in", limits).size(), 3U);
    EXPECT_THAT(refused("1\n123456\n"),
                HasSubstr("a.txt:2: expected at most 5 bytes in a line, found more"));
    EXPECT_THAT(refused("1\n2\n3\n4"), HasSubstr("a.txt:4: expected at most 3 lines"));
    EXPECT_THAT(refused("\n\n\n\n\n"), HasSubstr("at most 3 lines"));
    EXPECT_THAT(refused("1\n" + std::string(3, '\0')),
                HasSubstr("a.txt:2: expected text, found a byte of value 0"));
}

TEST(TextLines, AreTakenApart) {
    EXPECT_THAT(words_of(" a\t b  c "), ElementsAre("a", "b", "c"));
    EXPECT_THAT(words_of(" \t"), IsEmpty());
    const FirstWord parts = first_word("  7 \t the rest ");
    EXPECT_EQ(parts.word, "7");
    EXPECT_EQ(parts.rest, "the rest");
    EXPECT_EQ(first_word("alone").rest, "");
}

}  // namespace
}  // namespace cait::data_test
