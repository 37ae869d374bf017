#include "image/codec/image_name.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

TEST(ImageName, IsToldByItsExtensionInAnyCase) {
    for (const char* name : {"a.jpg", "b.JPEG", "c/d.Png", "x.y.webp", ".png"})
        EXPECT_TRUE(is_image_name(name)) << name;
    for (const char* name : {"", "jpg", "a.jpg.txt", "a.jpgx", "folder.png/readme", "a."})
        EXPECT_FALSE(is_image_name(name)) << name;
}

TEST(ImageName, HasTheExtensionOfItsLastPart) {
    EXPECT_EQ(extension_of("a/b.tar.gz"), "gz");
    EXPECT_EQ(extension_of("a.b/c"), "");
    EXPECT_EQ(extension_of("a.b/c."), "");
}

}  // namespace
}  // namespace cait
