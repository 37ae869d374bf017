#include "train/recipe/batch_mixing.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

Batch batch_of(std::size_t images) {
    Batch batch;
    batch.size = images;
    batch.position = {.epoch = 2, .batch = 7};
    return batch;
}

// Of one image in the batch of all processes, whoever has it.
TEST(BatchMixing, IsDrawnForTheBatchOfAllProcesses) {
    Recipe recipe;
    recipe.augment.mixup = 0.8;
    recipe.augment.cutmix = 1;
    for (const MixMode mode : {MixMode::batch, MixMode::pair, MixMode::element}) {
        const Mixup mixup{.mode = mode};
        const std::vector<MixDraw> all = batch_mixing(recipe, mixup, {16, 16})(batch_of(12));
        ASSERT_EQ(all.size(), 12U);
        for (const std::size_t world : {1U, 2U, 3U})
            for (std::size_t rank = 0; rank < world; ++rank) {
                const Deal deal = deal_of(recipe, rank, world);
                EXPECT_TRUE(deal.pairs);
                const std::vector<MixDraw> own =
                    batch_mixing(recipe, mixup, {16, 16}, deal)(batch_of(12 / world));
                ASSERT_EQ(own.size(), 12 / world);
                for (std::size_t i = 0; i < own.size(); ++i)
                    EXPECT_EQ(own[i], all[deal.place(i, own.size())]) << world << " " << i;
            }
    }
}

TEST(BatchMixing, EndsWhereTheRecipeSaysSo) {
    Recipe recipe;
    recipe.augment.mixup = 0.8;
    recipe.augment.mix_off_epoch = 2;
    EXPECT_TRUE(batch_mixing(recipe, {}, {16, 16})(batch_of(4)).empty());
    EXPECT_FALSE(deal_of(Recipe(), 1, 2).pairs);
}

}  // namespace
}  // namespace cait
