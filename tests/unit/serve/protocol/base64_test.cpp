#include "serve/protocol/base64.h"

#include "base/base64.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

TEST(Base64, GivesBackWhatTheEncoderTook) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(base64_decoded(base64(std::as_bytes(std::span(bytes))), "x"), bytes);
        bytes += char(i * 37);
    }
}

TEST(Base64, RefusesEverythingElse) {
    for (const char* wrong : {"a", "ab", "abc", "ab==c", "a===", "====", "ab=c", "ab cd",
                              "ab\ncd=", "ab-_", "data:image/png;base64,abcd"})
        EXPECT_EQ(refusal_of([&] { base64_decoded(wrong, "x"); }).status, 400) << wrong;
}

}  // namespace
}  // namespace cait::serve
