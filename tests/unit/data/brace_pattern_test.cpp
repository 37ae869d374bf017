#include "data/dataset_uri.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ShardNames, ExpandAsInAShell) {
    EXPECT_THAT(expand_braces("a.tar"), ElementsAre("a.tar"));
    EXPECT_THAT(expand_braces("d/{008..010}.tar"),
                ElementsAre("d/008.tar", "d/009.tar", "d/010.tar"));
    EXPECT_THAT(expand_braces("{9..10}"), ElementsAre("9", "10"));
    EXPECT_THAT(expand_braces("{a,b}-{0..1}"), ElementsAre("a-0", "a-1", "b-0", "b-1"));
    EXPECT_EQ(expand_braces("{00000..01281}").size(), 1282U);
}

TEST(ShardNames, RefuseNonsense) {
    EXPECT_THAT(error_of([] { expand_braces("x{0..1"); }), HasSubstr("'{' without '}'"));
    EXPECT_THAT(error_of([] { expand_braces("{5..1}"); }), HasSubstr("ascending order"));
    EXPECT_THAT(error_of([] { expand_braces("{a..c}"); }), HasSubstr("{FIRST..LAST}"));
    EXPECT_THAT(error_of([] { expand_braces("{0..999999999}"); }), HasSubstr("more than 100000"));
    EXPECT_THAT(error_of([] { expand_braces("{0..9999}{0..9999}"); }),
                HasSubstr("more than 100000"));
}

}  // namespace
}  // namespace cait::data_test
