#include "core/utf8.h"

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

}  // namespace
}  // namespace cait
