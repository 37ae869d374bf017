#include "base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string>& names() {
    static const std::vector<std::string> kNames{"cait_s24_224", "cait_xs24_384", "cait_xxs24_224",
                                                 "deit_tiny_patch16_224", "vit_base_patch16_224"};
    return kNames;
}

TEST(NearestNames, PutsTheNearestFirst) {
    EXPECT_THAT(nearest_names("cait_xxs24_244", names(), 1), ElementsAre("cait_xxs24_224"));
    EXPECT_THAT(nearest_names("deit_tiny_patch16", names(), 1),
                ElementsAre("deit_tiny_patch16_224"));
}

TEST(NearestNames, BreaksTiesAlphabetically) {
    const std::vector<std::string> candidates{"bx", "ax", "cx"};
    EXPECT_THAT(nearest_names("x", candidates, 3), ElementsAre("ax", "bx", "cx"));
}

TEST(NearestNames, GivesNoMoreThanAskedForNorThanThereAre) {
    EXPECT_THAT(nearest_names("cait", names()), SizeIs(3));
    EXPECT_THAT(nearest_names("cait", names(), 0), IsEmpty());
    EXPECT_THAT(nearest_names("cait", names(), 99), SizeIs(names().size()));
    EXPECT_THAT(nearest_names("cait", {}), IsEmpty());
}

TEST(NearestNames, AnEmptyNameIsNearestToTheShortest) {
    const std::vector<std::string> candidates{"long name", "ab", "abc"};
    EXPECT_THAT(nearest_names("", candidates, 2), ElementsAre("ab", "abc"));
}

TEST(NearestNames, AHugeNameCostsLittle) {
    const std::string huge(50'000'000, 'c');
    EXPECT_THAT(nearest_names(huge, names()), SizeIs(3));
}

}  // namespace
}  // namespace cait
