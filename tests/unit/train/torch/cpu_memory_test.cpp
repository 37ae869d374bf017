// Packed weights are used again only while they are what was packed.
#include "train/torch/cpu_memory.h"

#include <gtest/gtest.h>

#include "train/torch/linear_function.h"

namespace cait {
namespace {

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const CpuOptions& options) {
    return cpu_linear(x, weight, at::Tensor(), options);
}

class PackedWeights : public testing::Test {
protected:
    PackedWeights() { options_.memory->set_parameters({{"weight", weight_}}); }

    at::Tensor x_ = at::randn({5, 7}), weight_ = at::randn({11, 7});
    CpuOptions options_;
};

TEST_F(PackedWeights, AreKeptUnderOneVersion) {
    options_.weights_version = 1;
    const at::Tensor before = product(x_, weight_, options_);
    weight_.mul_(2);  // against the promise: shows that nothing is packed again
    EXPECT_TRUE(at::equal(product(x_, weight_, options_), before));
    options_.weights_version = 2;
    EXPECT_TRUE(at::allclose(product(x_, weight_, options_), 2 * before));
}

TEST_F(PackedWeights, ArePackedEachTimeWithoutAVersion) {
    const at::Tensor before = product(x_, weight_, options_);
    weight_.mul_(2);
    EXPECT_TRUE(at::allclose(product(x_, weight_, options_), 2 * before));
}

TEST_F(PackedWeights, OfResultsAreNeverKept) {
    options_.weights_version = 1;
    const at::Tensor result = weight_ * 1;
    const at::Tensor before = product(x_, result, options_);
    result.mul_(2);
    EXPECT_TRUE(at::allclose(product(x_, result, options_), 2 * before));
}

TEST_F(PackedWeights, ForwardAndBackwardDoNotMix) {
    options_.weights_version = 1;
    const at::Tensor x = x_.clone().requires_grad_();
    product(x, weight_, options_).sum().backward();
    EXPECT_TRUE(at::allclose(x.grad(), weight_.sum(0).expand({5, 7}), 1e-5, 1e-5));
}

}  // namespace
}  // namespace cait
