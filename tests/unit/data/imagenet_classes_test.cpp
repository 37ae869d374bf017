#include "data/imagenet_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace cait {
namespace {

TEST(ImageNetClasses, EveryListHasItsSizeAndNoNameTwice) {
    for (const std::size_t size : {1000, 21841, 21843, 11221, 11821}) {
        const auto list = imagenet_list(size);
        ASSERT_TRUE(list) << size;
        EXPECT_EQ(list->names.size(), size);
        EXPECT_EQ(std::set<std::string>(list->names.begin(), list->names.end()).size(), size);
    }
    EXPECT_FALSE(imagenet_list(10));
}

TEST(ImageNetClasses, TheThousandAreInTheOrderOfPublishedHeads) {
    const auto list = imagenet_list(1000);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->title, "ImageNet-1k");
    EXPECT_EQ(list->names[0], "tench");
    EXPECT_EQ(list->names[281], "tabby");
    EXPECT_EQ(list->names[999], "toilet tissue");
    // Two cranes and two maillots.
    EXPECT_EQ(list->names[134], "crane (wading bird)");
    EXPECT_EQ(list->names[517], "crane (lifting device)");
    EXPECT_EQ(list->names[638], "maillot");
    EXPECT_EQ(list->names[639], "tank suit");
}

TEST(ImageNetClasses, IdsHaveNames) {
    EXPECT_EQ(imagenet_name("n01440764"), "tench");
    EXPECT_EQ(imagenet_name("n00000001"), std::nullopt);
    EXPECT_EQ(imagenet_name("n99999999"), std::nullopt);
    EXPECT_EQ(imagenet_name("tench"), std::nullopt);
    EXPECT_EQ(imagenet_name(""), std::nullopt);
}

TEST(ImageNetClasses, AreInACoarseClassEach) {
    const std::vector<ImageNetParent> parents = imagenet_parents();
    ASSERT_EQ(parents.size(), 1000U);
    EXPECT_EQ(parents.front().wordnet_id, "n01440764");
    EXPECT_EQ(parents.front().coarse, "soft-finned fish");
    EXPECT_EQ(parents.back().wordnet_id, "n15075141");  // toilet tissue
    std::map<std::string, int> sizes;
    for (const ImageNetParent& one : parents) {
        ++sizes[one.coarse];
        EXPECT_TRUE(imagenet_name(one.wordnet_id)) << one.wordnet_id;
    }
    EXPECT_EQ(sizes.size(), 127U);
    EXPECT_EQ(sizes["mammal"], 218);
    EXPECT_EQ(sizes["bird"], 59);
}

}  // namespace
}  // namespace cait
