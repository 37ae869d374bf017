#include "base/base64.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

std::string base64_of(std::string_view text) { return base64(std::as_bytes(std::span(text))); }

TEST(Base64Text, WritesWhatRfc4648Has) {
    EXPECT_EQ(base64_of(""), "");
    EXPECT_EQ(base64_of("f"), "Zg==");
    EXPECT_EQ(base64_of("fo"), "Zm8=");
    EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64_of("\xff\xfe\xfd"), "//79");
}

TEST(Base64Text, ReadsWhatItWrites) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(from_base64(base64_of(bytes)), bytes);
        bytes += char(i * 37);
    }
}

TEST(Base64Text, RefusesEverythingElse) {
    for (const char* wrong : {"a", "ab", "abc", "ab==c", "a===", "====", "ab=c", "ab cd",
                              "ab\ncd=", "ab-_", "data:image/png;base64,abcd"})
        EXPECT_FALSE(from_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace cait
