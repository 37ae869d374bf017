#include "train/recipe/batch_mixing.h"

#include "base/philox.h"

namespace cait {

Deal deal_of(const Recipe& recipe, std::size_t rank, std::size_t world) {
    return {rank, world, mixes(recipe.augment)};
}

std::function<std::vector<MixDraw>(const Batch&)> batch_mixing(const Recipe& recipe,
                                                               const Mixup& mixup, ImageSize size,
                                                               const Deal& deal) {
    const auto off = std::uint64_t(recipe.augment.mix_off_epoch);
    return [=, seed = std::uint64_t(recipe.train.seed)](const Batch& batch) {
        if (off != 0 && batch.position.epoch >= off) return std::vector<MixDraw>();
        const std::uint64_t purpose =
            stable_hash("mixup") ^ (batch.position.epoch << 40) ^ batch.position.batch;
        RandomStream random(seed, purpose);
        const std::vector<MixDraw> all =
            draw_mix(mixup, std::int64_t(batch.size * deal.world), size.height, size.width, random);
        std::vector<MixDraw> own;
        for (std::size_t i = 0; i < batch.size; ++i) own.push_back(all[deal.place(i, batch.size)]);
        return own;
    };
}

}  // namespace cait
