#include "train/torch/dropout_mask.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace cait {
namespace {

constexpr double kDropoutMaskRate = 0.3;
const EvaluateContext kDropoutMaskContext{.mode = Mode::train, .seed = 11, .step = 5};

at::Tensor mask_of(const std::vector<std::int64_t>& sizes, const EvaluateContext& context) {
    return dropout_mask("blocks.0.mlp.dropout", kDropoutMaskRate, torch::empty(sizes), context);
}

// Made with another number of threads.
at::Tensor mask_with_threads(int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    at::Tensor mask = mask_of({5, 64, 97}, kDropoutMaskContext);
    at::set_num_threads(before);
    return mask;
}

// The vector loop against the plain generator: within an image, 64 blocks of four words each are
// computed side by side and laid out word by word.
TEST(DropoutMask, IsAFunctionOfSeedStepNodeImageAndElement) {
    const std::int64_t each = 7 * 103;  // no multiple of the 256 elements that are made at once
    const at::Tensor mask = mask_of({3, 7, 103}, kDropoutMaskContext).reshape({3, each});
    const std::uint64_t purpose =
        stable_hash("blocks.0.mlp.dropout") ^ (kDropoutMaskContext.step * 0x9E3779B97F4A7C15ULL);
    for (std::int64_t image = 0; image < 3; ++image)
        for (std::int64_t i = 0; i < each; ++i) {
            const std::int64_t block = i / 256 * 64 + i % 64, word = i % 256 / 64;
            const PhiloxBlock bits = philox(kDropoutMaskContext.seed, purpose,
                                            (std::uint64_t(image) << 32) + std::uint64_t(block));
            const bool kept = double(bits[std::size_t(word)] >> 8) * 0x1p-24 < 1 - kDropoutMaskRate;
            ASSERT_EQ(mask[image][i].item<float>(), kept ? float(1 / (1 - kDropoutMaskRate)) : 0.0F)
                << image << " " << i;
        }
}

TEST(DropoutMask, ChangesWithSeedStepAndNode) {
    const at::Tensor mask = mask_of({2, 500}, kDropoutMaskContext);
    EXPECT_TRUE(at::equal(mask, mask_of({2, 500}, kDropoutMaskContext)));
    EXPECT_FALSE(at::equal(mask, mask_of({2, 500}, {.seed = 12, .step = 5})));
    EXPECT_FALSE(at::equal(mask, mask_of({2, 500}, {.seed = 11, .step = 6})));
    EXPECT_FALSE(
        at::equal(mask, dropout_mask("other", kDropoutMaskRate, mask, kDropoutMaskContext)));
    EXPECT_FALSE(at::equal(mask[0], mask[1]));
}

TEST(DropoutMask, DoesNotDependOnThreads) {
    const at::Tensor alone = mask_with_threads(1);
    EXPECT_TRUE(at::equal(alone, mask_with_threads(2)));
    EXPECT_TRUE(at::equal(alone, mask_with_threads(3)));
}

TEST(DropoutMask, DoesNotDependOnHowTheBatchIsDealtOut) {
    const at::Tensor whole = mask_of({6, 300}, kDropoutMaskContext);
    EvaluateContext part = kDropoutMaskContext;
    part.first_image = 4;  // the last part of an accumulated step
    EXPECT_TRUE(at::equal(mask_of({2, 300}, part), whole.slice(0, 4, 6)));
    part.first_image = 0;
    part.deal = {.rank = 1, .world = 3};
    EXPECT_TRUE(at::equal(mask_of({2, 300}, part), at::stack({whole[1], whole[4]})));
    EvaluateContext second =
        kDropoutMaskContext;  // of two parts of two images, in the second of three passes
    second.first_image = 1;
    second.pass_rows = 1;
    second.pass_images = 2;
    EXPECT_TRUE(at::equal(mask_of({3, 300}, second), at::stack({whole[1], whole[3], whole[5]})));
}

TEST(DropoutMask, KeepsTheMean) {
    for (const double rate : {0.1, 0.5, 0.9}) {
        const at::Tensor mask =
            dropout_mask("n", rate, torch::empty({8, 50000}), kDropoutMaskContext);
        // 400 000 decisions: five times the std of their mean.
        const double std = std::sqrt(rate / (1 - rate) / 400000);
        EXPECT_NEAR(mask.mean().item<double>(), 1, 5 * std) << rate;
        EXPECT_NEAR(mask.eq(0).to(at::kFloat).mean().item<double>(), rate, 5 * std) << rate;
    }
}

TEST(DropoutMask, FollowsTheFormatOfItsInput) {
    const at::Tensor wide = mask_of({2, 100}, kDropoutMaskContext);
    const at::Tensor narrow =
        dropout_mask("blocks.0.mlp.dropout", kDropoutMaskRate,
                     torch::empty({2, 100}, at::kBFloat16), kDropoutMaskContext);
    EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(narrow.eq(0), wide.eq(0)));
    EXPECT_EQ(
        dropout_mask("n", kDropoutMaskRate, torch::empty({0, 4}), kDropoutMaskContext).numel(), 0);
}

}  // namespace
}  // namespace cait
