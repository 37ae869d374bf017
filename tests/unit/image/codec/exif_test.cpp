#include "image/codec/exif.h"

#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

using namespace std::string_literals;

int orientation(const std::string& text) { return exif_orientation(bytes_of(text)); }

TEST(Exif, ReadsBothByteOrders) {
    const std::string little = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;
    const std::string big = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"s;
    EXPECT_EQ(orientation(little), 6);
    EXPECT_EQ(orientation(big), 8);
    EXPECT_EQ(orientation("Exif\0\0"s + little), 6);
}

TEST(Exif, DamageMeansAsStored) {
    const std::string whole = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0"s;
    EXPECT_EQ(orientation(whole), 6);
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(orientation(whole.substr(0, size)), 1) << size;
    EXPECT_EQ(orientation("II*\0\xff\xff\xff\xff"s), 1);  // the directory lies outside
    EXPECT_EQ(orientation("II*\0\x08\0\0\0\xff\xff"s), 1);
    EXPECT_EQ(orientation("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0"s), 1);
    EXPECT_EQ(orientation("II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x01\0\0\0\x06\0\0\0"s), 1);
    EXPECT_EQ(orientation("nonsense"), 1);
}

}  // namespace
}  // namespace cait::test
