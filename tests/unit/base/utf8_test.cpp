#include "base/utf8.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(Utf8, KnowsItsOwn) {
    for (const char* text : {"", "plain", "Größe", "日本語", "\U0001F600", "\u07ff", "\uffff"})
        EXPECT_TRUE(is_utf8(text)) << text;
}

TEST(Utf8, RefusesEverythingElse) {
    for (const char* text : {"gr\xfcn", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3", "ok\xe2\x82"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Utf8, CharactersHaveOneToFourBytes) {
    EXPECT_EQ(utf8_length("a", 0), 1U);
    EXPECT_EQ(utf8_length("xä", 1), 2U);
    EXPECT_EQ(utf8_length("猫", 0), 3U);
    EXPECT_EQ(utf8_length("🐈", 0), 4U);
}

TEST(Utf8, OtherBytesAreNone) {
    for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                             "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "\xe7\x8c"})
        EXPECT_EQ(utf8_length(text, 0), 0U) << text;
}

}  // namespace
}  // namespace cait
