#include "base/printable.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(Printable, KeepsOrdinaryNamesOfAllLanguages) {
    EXPECT_EQ(printable("blocks.0.attn.qkv.weight"), "blocks.0.attn.qkv.weight");
    EXPECT_EQ(printable("Größe, 猫, שלום, 🐈"), "Größe, 猫, שלום, 🐈");
    EXPECT_EQ(printable("a\\b"), "a\\b");
    EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatCouldBreakALineOrATerminal) {
    EXPECT_EQ(printable("a\nb\x1b[2J\xff"), "a\\x0ab\\x1b[2J\\xff");
    EXPECT_EQ(printable(std::string_view("\0\t\r", 3)), "\\x00\\x09\\x0d");
    EXPECT_EQ(printable("\x7f \u0080 \u009b2J \u009f"), "\\u007f \\u0080 \\u009b2J \\u009f");
    EXPECT_EQ(printable("\u2028\u2029"), "\\u2028\\u2029");
}

TEST(Printable, EscapesWhatTurnsTheDirectionOfText) {
    EXPECT_EQ(printable("gnp\u202exe.jpg"), "gnp\\u202exe.jpg");
    EXPECT_EQ(printable("\u200e\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069\u061c"),
              "\\u200e\\u200f\\u202a\\u202b\\u202c\\u202d\\u2066\\u2067\\u2068\\u2069\\u061c");
    EXPECT_EQ(printable("\u2027\u202f\u2065\u206a\u00a0"), "\u2027\u202f\u2065\u206a\u00a0");
}

TEST(Printable, EscapesBytesThatAreNoUtf8OneByOne) {
    EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut off
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // a long form of '/'
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
    EXPECT_EQ(printable("\x9b\x32J"), "\\x9b2J");             // C1 as terminals of old have it
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, CutsWhatIsLongBetweenCharacters) {
    EXPECT_EQ(printable(std::string(1000, 'x'), 4), "xxxx...");
    EXPECT_EQ(printable("äöü", 2), "äö...");
    EXPECT_EQ(printable("äöü", 3), "äöü");
}

TEST(Printable, LinesStayLines) {
    EXPECT_EQ(printable_lines("a\n\tb\r\n\x1b"), "a\n\tb\\x0d\n\\x1b");
    EXPECT_EQ(printable_lines(std::string(100'000, 'x')).size(), 100'000U);
}

TEST(Printable, ALongMessageSaysThatItWasCut) {
    const std::string longest(kLongestMessage - 1, 'x');
    EXPECT_EQ(printable_message(longest + "\n"), longest + "\n");
    EXPECT_EQ(printable_message(longest + "yz\n"), longest + "y... (cut after 2000 characters)\n");
    EXPECT_LT(printable_message(std::string(20'000'000, '\x1b')).size(), kLongestMessage + 50);
    EXPECT_LT(printable_message(std::string(1999, '\x1b')).size(), kLongestMessage + 50);
}

}  // namespace
}  // namespace cait
