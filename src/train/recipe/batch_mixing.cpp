#include "train/recipe/batch_mixing.h"

#include "base/philox.h"

namespace cait {

std::function<void(Batch&)> batch_mixing(const Recipe& recipe, const Mixup& mixup, ImageSize size,
                                         std::size_t rank) {
    const auto off = std::uint64_t(recipe.augment.mix_off_epoch);
    return [=, seed = std::uint64_t(recipe.train.seed)](Batch& batch) {
        batch.targets.resize(batch.size * std::size_t(mixup.classes));
        std::vector<MixDraw> draws;
        if (off == 0 || batch.position.epoch < off) {
            const std::uint64_t purpose = stable_hash("mixup") ^ (batch.position.epoch << 40) ^
                                          (std::uint64_t(rank) << 32) ^ batch.position.batch;
            RandomStream random(seed, purpose);
            draws = draw_mix(mixup, std::int64_t(batch.size), size.height, size.width, random);
            const std::size_t values = batch.size * 3 * std::size_t(size.height * size.width);
            apply_mix(draws, 3, size.height, size.width,
                      batch.storage.mutable_floats().first(values));
        }
        mix_targets(mixup, draws, batch.labels, batch.targets);
    };
}

}  // namespace cait
