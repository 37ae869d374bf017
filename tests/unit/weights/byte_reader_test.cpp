#include "weights/byte_reader.h"

#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::HasSubstr;

TEST(ByteReader, ReadsInOrder) {
    ByteReader reader(as_bytes("\x01\x02line\nrest"), "file");
    EXPECT_EQ(reader.number<std::uint16_t>(), 0x0201);
    EXPECT_EQ(reader.line(), "line");
    EXPECT_EQ(reader.text(4), "rest");
    EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, RefusesToReadPastTheEnd) {
    ByteReader reader(as_bytes("abc"), "file");
    EXPECT_THAT(error_of([&] { reader.number<std::uint32_t>(); }), HasSubstr("file: truncated"));
    EXPECT_THAT(error_of([&] { reader.take(~std::uint64_t{0}); }), HasSubstr("found 3"));
    EXPECT_THAT(error_of([&] { reader.line(); }), HasSubstr("has no end"));
    EXPECT_EQ(reader.position(), 0U);
}

}  // namespace
}  // namespace cait::test
