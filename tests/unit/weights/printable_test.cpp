#include "weights/printable.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(Printable, KeepsOrdinaryNames) {
    EXPECT_EQ(printable("blocks.0.attn.qkv.weight"), "blocks.0.attn.qkv.weight");
}

TEST(Printable, EscapesWhatCouldBreakALineOrATerminal) {
    EXPECT_EQ(printable("a\nb\x1b[2J\xff"), "a\\x0ab\\x1b[2J\\xff");
}

TEST(Printable, CutsWhatIsLong) { EXPECT_EQ(printable(std::string(1000, 'x'), 4), "xxxx..."); }

}  // namespace
}  // namespace cait
