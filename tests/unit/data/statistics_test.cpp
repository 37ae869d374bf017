#include "data/statistics.h"

#include "data/open_dataset.h"
#include "unit/data/memory_dataset.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Statistics, CountsAndMeasures) {
    const TemporaryFolder folder;
    Image white = Image::blank(4, 2, 3);
    std::ranges::fill(white.pixels, std::uint8_t(255));
    put(folder / "a/white.png", png(white));
    put(folder / "a/black.png", png(Image::blank(2, 4, 3)));
    put(folder / "b/black.png", png(Image::blank(8, 1, 3)));
    put(folder / "b/cut.png", png(white).substr(0, 50));
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    for (const int threads : {1, 4}) {
        std::vector<std::size_t> progress;
        const DatasetStatistics result =
            statistics(*dataset, {threads, [&](std::size_t done) { progress.push_back(done); }});
        EXPECT_EQ(result.images, 4U);
        EXPECT_THAT(result.per_class, ElementsAre(2, 2));
        EXPECT_EQ(result.width, (SideRange{2, 4, 8}));
        EXPECT_EQ(result.height, (SideRange{1, 2, 4}));
        for (const double mean : result.mean) EXPECT_DOUBLE_EQ(mean, 1.0 / 3);
        for (const double std : result.std) EXPECT_NEAR(std, std::sqrt(2.0) / 3, 1e-12);
        ASSERT_EQ(result.bad.size(), 1U);
        EXPECT_EQ(result.bad[0].index, 3U);
        EXPECT_THAT(result.bad[0].name, HasSubstr("cut.png"));
        EXPECT_THAT(progress, ElementsAre(4));
    }
}

TEST(Statistics, VerifyListsWhatIsBadInOrder) {
    const MemoryDataset dataset(200, {150, 3, 77}, true);
    const auto bad = verify(dataset, {4, {}});
    ASSERT_EQ(bad.size(), 3U);
    EXPECT_EQ(bad[0].index, 3U);
    EXPECT_EQ(bad[1].name, "image77");
    EXPECT_EQ(bad[2].reason, "image150: truncated");
    EXPECT_TRUE(verify(MemoryDataset(5)).empty());
}

}  // namespace
}  // namespace cait::data_test
