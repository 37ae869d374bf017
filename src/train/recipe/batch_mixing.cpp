#include "train/recipe/batch_mixing.h"

#include "base/philox.h"

namespace cait {

std::function<std::vector<MixDraw>(const Batch&)> batch_mixing(const Recipe& recipe,
                                                               const Mixup& mixup, ImageSize size,
                                                               std::size_t rank) {
    const auto off = std::uint64_t(recipe.augment.mix_off_epoch);
    return [=, seed = std::uint64_t(recipe.train.seed)](const Batch& batch) {
        if (off != 0 && batch.position.epoch >= off) return std::vector<MixDraw>();
        const std::uint64_t purpose = stable_hash("mixup") ^ (batch.position.epoch << 40) ^
                                      (std::uint64_t(rank) << 32) ^ batch.position.batch;
        RandomStream random(seed, purpose);
        return draw_mix(mixup, std::int64_t(batch.size), size.height, size.width, random);
    };
}

}  // namespace cait
