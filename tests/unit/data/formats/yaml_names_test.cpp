#include "data/formats/yaml_names.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_in(const std::string& text) {
    return read_yaml_names(text, "data.yaml").value_or(std::vector<std::string>{"none"});
}

TEST(YamlNames, ReadsEveryFormThatToolsWrite) {
    EXPECT_THAT(names_in("names: ['a b', \"c\", d]\n"), ElementsAre("a b", "c", "d"));
    EXPECT_THAT(names_in("nc: 2\nnames: [a,\n  'b, c']  # two\ntrain: x\n"),
                ElementsAre("a", "b, c"));
    EXPECT_THAT(names_in("names: {0: a, 1: 'b: c'}\n"), ElementsAre("a", "b: c"));
    EXPECT_THAT(names_in("names:\n- a\n- 'b'\nnc: 2\n"), ElementsAre("a", "b"));
    EXPECT_THAT(names_in("names:  # all\r\n  - a # first\r\n\r\n  # no\r\n  - b\r\nval: y\r\n"),
                ElementsAre("a", "b"));
    EXPECT_THAT(names_in("path: .\nnames:\n  0: traffic light\n  1: 'dog'"),
                ElementsAre("traffic light", "dog"));
    EXPECT_FALSE(read_yaml_names("nc: 3\n", "data.yaml"));
    EXPECT_FALSE(read_yaml_names("  names: [a]\n", "data.yaml"));  // of something else
}

TEST(YamlNames, NamesTheLineOfWhatIsWrong) {
    const auto wrong = [](const std::string& text) {
        return error_of([&] { read_yaml_names(text, "data.yaml"); });
    };
    EXPECT_THAT(wrong("names: 3\n"), HasSubstr("data.yaml:1: expected a list of names, found '3'"));
    EXPECT_THAT(wrong("names: [a, b\n"), HasSubstr("expected ']' at the end of the names"));
    EXPECT_THAT(wrong("nc: 1\nnames:\n  1: a\n"), HasSubstr("data.yaml:3: expected class 0"));
    EXPECT_THAT(wrong("names: {0: a, 2: b}\n"), HasSubstr("expected class 1, found '2: b'"));
    EXPECT_THAT(wrong("names: [a, , b]\n"), HasSubstr("expected a class name"));
    EXPECT_THAT(wrong("names: ['a]\n"), HasSubstr("data.yaml:1: expected"));
    EXPECT_THAT(wrong("names:\n- 'a' b\n"), HasSubstr("expected a quoted name"));
    EXPECT_THAT(wrong("names:\n  0:\n"), HasSubstr("expected a class name"));
    EXPECT_THAT(wrong("names:\n-\n"), HasSubstr("data.yaml:2: expected a class name"));
}

}  // namespace
}  // namespace cait::data_test
