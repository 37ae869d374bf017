#include "weights/verify_weights.h"

#include "unit/weights/support.h"
#include "weights/checksum.h"
#include "weights/safetensors.h"

namespace cait::test {
namespace {

using ::testing::HasSubstr;

TEST(VerifyWeights, ComparesTheEntriesOfAnArchive) {
    EXPECT_GT(verify_weights(data("plain_zip.pth")), 0U);
    EXPECT_EQ(verify_weights(data("plain_legacy.pth")), 0U);  // has none
    EXPECT_EQ(verify_weights(data("plain.safetensors")), 0U);
}

TEST(VerifyWeights, NamesTheEntryThatIsDamaged) {
    const TemporaryFolder folder;
    std::string bytes = read_text(data("plain_zip.pth"));
    const std::size_t directory = bytes.find("PK\x01\x02");
    ASSERT_NE(directory, std::string::npos);
    std::size_t damaged = 0;
    for (std::size_t i = bytes.find("data/0"); i < directory; i += 64) {
        std::string other = bytes;
        other[i + 32] ^= 4;
        write_text(folder / "w.pth", other);
        try {
            verify_weights(folder / "w.pth");
        } catch (const Error& error) {
            damaged +=
                std::string(error.what()).find("damaged: expected checksum") != std::string::npos;
        }
    }
    EXPECT_GT(damaged, 0U);

    // torch.save without checksums writes zeros in their place.
    for (std::size_t at = directory; at != std::string::npos; at = bytes.find("PK\x01\x02", at + 4))
        bytes.replace(at + 16, 4, 4, '\0');
    write_text(folder / "w.pth", bytes);
    EXPECT_EQ(verify_weights(folder / "w.pth"), 0U);
}

TEST(VerifyWeights, ComparesOurOwnFiles) {
    const TemporaryFolder folder;
    const std::vector<NamedTensor> tensors{{"a", Tensor::of({2}, std::vector<float>{1, 2})}};
    write_safetensors(folder / "w.safetensors", tensors, sealed({}, tensors));
    EXPECT_EQ(verify_weights(folder / "w.safetensors"), 1U);
    std::string bytes = read_text(folder / "w.safetensors");
    bytes.back() ^= 1;
    write_text(folder / "w.safetensors", bytes);
    EXPECT_THROW(verify_weights(folder / "w.safetensors"), Error);
}

}  // namespace
}  // namespace cait::test
