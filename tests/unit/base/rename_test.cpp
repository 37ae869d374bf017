#include "base/rename.h"

#include <gtest/gtest.h>

#include <array>

namespace cait {
namespace {

const std::array kRules{
    Rename{"blocks.*.gamma_1", "blocks.*.ls1.gamma"},
    Rename{"stages.*.*.norm", "s*.b*.norm"},  // a star is a whole component: matches "s*" only
    Rename{"network.*.*.attn.**", "net.*.layer.*.attention.**"},
    Rename{"patch_embed.**", "stem.**"},
};

TEST(Rename, TranslatesBothWays) {
    EXPECT_EQ(to_official("blocks.11.ls1.gamma", kRules), "blocks.11.gamma_1");
    EXPECT_EQ(to_alias("blocks.11.gamma_1", kRules), "blocks.11.ls1.gamma");
}

TEST(Rename, CarriesStarsOverInOrder) {
    EXPECT_EQ(to_official("net.0.layer.7.attention.qkv.weight", kRules),
              "network.0.7.attn.qkv.weight");
    EXPECT_EQ(to_alias("network.0.7.attn.qkv.weight", kRules),
              "net.0.layer.7.attention.qkv.weight");
}

TEST(Rename, TheRestIsOneComponentOrMore) {
    EXPECT_EQ(to_official("stem.proj.weight", kRules), "patch_embed.proj.weight");
    EXPECT_EQ(to_official("stem", kRules), "stem");
}

TEST(Rename, LeavesOtherNamesAlone) {
    EXPECT_EQ(to_official("blocks.11.gamma_1", kRules), "blocks.11.gamma_1");
    EXPECT_EQ(to_official("blocks.1.2.ls1.gamma", kRules), "blocks.1.2.ls1.gamma");
    EXPECT_EQ(to_official("blocks.1.ls1.gamma.x", kRules), "blocks.1.ls1.gamma.x");
    EXPECT_EQ(to_official("s1.b1.norm", kRules), "s1.b1.norm");
    EXPECT_EQ(to_official("", kRules), "");
}

TEST(Rename, KnowsHowManyAxesTheOtherLibraryGives) {
    const std::array kAxes{Rename{"norm.alpha", "norm.alpha", 3}, Rename{"gamma", "ls"}};
    EXPECT_EQ(alias_axes("norm.alpha", kAxes), 3U);
    EXPECT_EQ(alias_axes("gamma", kAxes), 0U);
    EXPECT_EQ(alias_axes("other", kAxes), 0U);
}

TEST(Rename, TheFirstRuleThatFitsDecides) {
    const std::array kOverlapping{Rename{"a.b", "x.y"}, Rename{"c.**", "x.**"}};
    EXPECT_EQ(to_official("x.y", kOverlapping), "a.b");
    EXPECT_EQ(to_official("x.z", kOverlapping), "c.z");
}

}  // namespace
}  // namespace cait
