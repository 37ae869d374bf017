#include "train/torch/synced_batch_norm.h"

#include <gtest/gtest.h>

namespace cait {
namespace {

struct Results {
    at::Tensor y, dx, d_weight, d_bias, mean, var;
};

class SyncedBatchNorm : public testing::TestWithParam<std::vector<std::int64_t>> {
protected:
    void SetUp() override {
        torch::manual_seed(3);
        x_ = at::randn(GetParam()) * 2 + 1;
        gradient_ = at::randn(GetParam());
        weight_ = at::rand({x_.size(1)}) + 0.5;
        bias_ = at::randn({x_.size(1)});
    }

    template <class Norm>
    Results run(const Norm& norm) const {
        Results run;
        const at::Tensor x = x_.clone().requires_grad_(), w = weight_.clone().requires_grad_(),
                         b = bias_.clone().requires_grad_();
        run.mean = at::full({x.size(1)}, 0.3);
        run.var = at::full({x.size(1)}, 1.7);
        run.y = norm(x, w, b, run.mean, run.var);
        run.y.backward(gradient_);
        run.dx = x.grad();
        run.d_weight = w.grad();
        run.d_bias = b.grad();
        return run;
    }

    at::Tensor x_, gradient_, weight_, bias_;
};

TEST_P(SyncedBatchNorm, OfOneProcessIsThePlainOne) {
    int sums = 0;
    const Results synced = run([&](const at::Tensor& x, const at::Tensor& w, const at::Tensor& b,
                                   at::Tensor mean, at::Tensor var) {
        return synced_batch_norm(x, {w, b, mean, var}, 0.1, 1e-5, [&](at::Tensor&) { ++sums; });
    });
    const Results plain = run([](const at::Tensor& x, const at::Tensor& w, const at::Tensor& b,
                                 const at::Tensor& mean, const at::Tensor& var) {
        return at::batch_norm(x, w, b, mean, var, true, 0.1, 1e-5, false);
    });
    EXPECT_EQ(sums, 3);  // two forward, one backward
    const auto expect = [](const at::Tensor& a, const at::Tensor& b, const char* what) {
        EXPECT_LT((a - b).abs().max().item<double>(), 1e-5) << what;
    };
    expect(synced.y, plain.y, "y");
    expect(synced.dx, plain.dx, "dx");
    expect(synced.d_weight, plain.d_weight, "weight");
    expect(synced.d_bias, plain.d_bias, "bias");
    expect(synced.mean, plain.mean, "mean");
    expect(synced.var, plain.var, "var");
}

INSTANTIATE_TEST_SUITE_P(Shapes, SyncedBatchNorm,
                         testing::Values(std::vector<std::int64_t>{12, 5},
                                         std::vector<std::int64_t>{4, 3, 6, 7}),
                         [](const auto& one) { return one.param.size() == 2 ? "rows" : "maps"; });

}  // namespace
}  // namespace cait
