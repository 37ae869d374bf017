#include "weights/published/published_weights.h"

#include <gmock/gmock.h>

#include <set>

#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(PublishedWeights, NamesAndFilesAreUnique) {
    std::set<std::string> names, files;
    for (const PublishedWeights& one : published_weights()) {
        EXPECT_TRUE(names.insert(std::string(one.model) + " " + one.argument()).second)
            << one.model;
        EXPECT_TRUE(files.insert(one.file()).second) << one.file();
        EXPECT_TRUE(one.address().starts_with("https://")) << one.address();
        EXPECT_EQ(one.file().find('/'), std::string::npos) << one.file();
        find_published(one.model, "");  // who has a variant has the plain ones, too
    }
}

TEST(PublishedWeights, TheChecksumIsInTheName) {
    const auto checksum = [](std::string_view name) {
        const auto found = PublishedWeights{"", "", Publisher::deit, name}.checksum();
        return found ? found->hex : "";
    };
    EXPECT_EQ(checksum("deit_tiny_patch16_224-a1311bcf.pth"), "a1311bcf");
    EXPECT_EQ(checksum("XXS24_224.pth"), "");
    EXPECT_EQ(checksum("a-b-12345678.pth"), "12345678");
    EXPECT_EQ(checksum("a-1234567.pth"), "");
    EXPECT_EQ(checksum("a-1234567g.pth"), "");
}

TEST(PublishedWeights, AddressesOfFilesOfTheHubAndOfPages) {
    const PublishedWeights& vit = find_published("vit_tiny_patch16_224", "");
    EXPECT_EQ(vit.address(),
              "https://huggingface.co/timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k/resolve/main/"
              "model.safetensors");
    EXPECT_EQ(vit.file(), "vit_tiny_patch16_224.augreg_in21k_ft_in1k.safetensors");
    EXPECT_EQ(find_published("deit3_base_patch16_224", "21k").address(),
              "https://dl.fbaipublicfiles.com/deit/deit_3_base_224_21k.pth");
    EXPECT_EQ(find_published("vit_small_patch14_dinov2", "").address(),
              "https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth");
    EXPECT_EQ(
        find_published("vit_giant_patch14_reg4_dinov2", "").address(),
        "https://dl.fbaipublicfiles.com/dinov2/dinov2_vitg14/dinov2_vitg14_reg4_pretrain.pth");
    EXPECT_TRUE(find_published("deepvit_s", "").by_hand());
    EXPECT_THAT(error_of([] { find_published("cait_m48_224", ""); }),
                AllOf(HasSubstr("'cait_m48_224'"), HasSubstr("cait_m48_448")));
}

}  // namespace
}  // namespace cait
