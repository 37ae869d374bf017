#include "graph/cost.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "models/catalogue.h"

namespace cait {
namespace {

TEST(Cost, CountsProductsByHand) {
    Builder b({});
    const Value image = b.image(3, {4, 4});  // 48 values
    const Value x = b.reshape(image, {Shape::kBatch, 6, 8});
    const Value y = b.linear("fc", x, 10);     // 6 * 8 * 10
    b.output("logits", b.matmul(y, y, true));  // 6 * 10 * 6
    const Cost cost = estimate_cost(b.finish());
    EXPECT_EQ(cost.params, 8 * 10 + 10);
    EXPECT_EQ(cost.macs, 480 + 360);
    // The reshape is a view: image (48), y (60) and the product (36).
    EXPECT_EQ(cost.training_bytes, 4 * (48 + 60 + 36));
    // The image is gone once y is there.
    EXPECT_EQ(cost.inference_bytes, 4 * (48 + 60));
}

// What stands between fused ops: the tokens before and after a branch, not what is inside.
TEST(Cost, InferenceMemoryIsThatOfTheFusedGraph) {
    Builder b({});
    const Value x = b.reshape(b.image(3, {4, 4}), {Shape::kBatch, 6, 8});
    const Value hidden = b.gelu(b.linear("fc1", b.layer_norm("norm", x, 1e-6), 100));
    b.output("logits", b.residual(x, b.linear("fc2", hidden, 8), {}, 0));
    EXPECT_EQ(estimate_cost(b.finish()).inference_bytes, 4 * (48 + 48));
}

TEST(Cost, FrozenParametersAreNotTrainable) {
    const Cost cost =
        estimate_cost(record(configure("cait_xxs24_224", {{"residual_learnable", "false"}})));
    EXPECT_EQ(cost.params - cost.trainable, (24 + 2) * 2 * 192);
}

TEST(Cost, InferenceMemoryDoesNotGrowWithDepth) {
    const auto bytes = [](const char* depth) {
        return estimate_cost(record(configure("cait_xxs24_224", {{"depth", depth}})))
            .inference_bytes;
    };
    EXPECT_EQ(bytes("4"), bytes("24"));
}

}  // namespace
}  // namespace cait
