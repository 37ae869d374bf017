#include "train/torch/roi_align_function.h"

#include <gtest/gtest.h>

#include "cait/error.h"

namespace cait {
namespace {

const std::shared_ptr<kernels::ThreadPool>& pool() {
    static const auto kPool = std::make_shared<kernels::ThreadPool>(2);
    return kPool;
}

// Of images of 256 pixels, filled by `value(level, image)`.
template <class Value>
std::vector<at::Tensor> pyramid(const Value& value) {
    std::vector<at::Tensor> maps;
    for (std::int64_t level = 0; level < std::int64_t(kPooledLevels); ++level) {
        const std::int64_t side = 256 / level_stride(std::size_t(level));
        at::Tensor map = at::empty({2, 3, side, side});
        for (std::int64_t image = 0; image < 2; ++image) map[image] = value(level, image);
        maps.push_back(map);
    }
    return maps;
}

// One of each level, the larger ones first, in alternating images.
const std::vector<PooledRegion> kRegions{{1, {0, 0, 250, 250}},
                                         {0, {10, 20, 150, 160}},
                                         {1, {30, 30, 90, 80}},
                                         {0, {100.5F, 60.25F, 131, 90}},
                                         {0, {5, 7, 9, 12}}};

TEST(RoiAlignFunction, PoolsEachRegionFromItsLevelAndImage) {
    const std::vector<at::Tensor> maps = pyramid([](std::int64_t level, std::int64_t image) {
        return at::scalar_tensor(10 * level + image);
    });
    const at::Tensor pooled = roi_align(maps, kRegions, 7, RegionRules(), pool());
    ASSERT_EQ(pooled.sizes(), (std::vector<std::int64_t>{5, 3, 7, 7}));
    for (std::size_t i = 0; i < kRegions.size(); ++i) {
        const auto level = double(level_of(kRegions[i].region, RegionRules()));
        const double expected = 10 * level + double(kRegions[i].image);
        EXPECT_LT((pooled[std::int64_t(i)] - expected).abs().max().item<double>(), 1e-4) << i;
    }
}

// It is linear in the maps: the gradient is its transpose.
TEST(RoiAlignFunction, GradientIsTheTransposeOfWhatItComputes) {
    torch::manual_seed(3);
    const auto random = [](std::int64_t level, std::int64_t) {
        return at::randn({3, 64 >> level, 64 >> level});
    };
    std::vector<at::Tensor> maps = pyramid(random);
    for (at::Tensor& map : maps) map.requires_grad_();
    const std::vector<at::Tensor> direction = pyramid(random);
    const at::Tensor weights = at::randn({5, 3, 14, 14});
    (roi_align(maps, kRegions, 14, RegionRules(), pool()) * weights).sum().backward();
    double along = 0;
    for (std::size_t level = 0; level < maps.size(); ++level)
        if (maps[level].grad().defined())
            along += (maps[level].grad() * direction[level]).sum().item<double>();
    const double moved =
        (roi_align(direction, kRegions, 14, RegionRules(), pool()) * weights).sum().item<double>();
    EXPECT_NEAR(along, moved, 1e-3 * std::max(1.0, std::abs(moved)));
    EXPECT_GT(maps[0].grad().abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace cait
