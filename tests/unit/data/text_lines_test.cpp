#include "data/text_lines.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TextLines, HaveNoEndsAndNoBlankOnesLast) {
    const TemporaryFolder folder;
    put(folder / "a.txt", "one\r\n\ntwo words\n\n\n");
    EXPECT_THAT(read_lines(folder / "a.txt"), ElementsAre("one", "", "two words"));
    put(folder / "a.txt", "no end");
    EXPECT_THAT(read_lines(folder / "a.txt"), ElementsAre("no end"));
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
