// AdamW: "Decoupled Weight Decay Regularization", Loshchilov & Hutter 2017 (arXiv 1711.05101), with
// PyTorch's order of operations: decay first, epsilon beside the bias-corrected root.
#include <cmath>

#include "train/optim/optimizer.h"

namespace cait {

namespace {

struct AdamWCoefficients {
    float keep;  // 1 - lr * weight decay
    float beta1, rest1;
    float beta2, rest2;
    float root_scale;  // makes the root of the second moment unbiased
    float epsilon;
    float rate;  // lr, made to undo the bias of the first moment
};

void adamw_loop(const ChunkUpdate& chunk, AdamWCoefficients c) {
    float* __restrict__ value = chunk.value;
    const float* __restrict__ grad = chunk.grad;
    float* __restrict__ m = chunk.buffers[0];
    float* __restrict__ v = chunk.buffers[1];
    for (std::int64_t i = 0; i < chunk.count; ++i) {
        const float g = grad[i];
        const float first = c.beta1 * m[i] + c.rest1 * g;
        const float second = c.beta2 * v[i] + c.rest2 * (g * g);
        m[i] = first;
        v[i] = second;
        value[i] =
            c.keep * value[i] - c.rate * (first / (std::sqrt(second) * c.root_scale + c.epsilon));
    }
}

class AdamW final : public Optimizer {
public:
    AdamW(const OptimPart& options, std::span<const TrainParam> params)
        : Optimizer(options, params, {"exp_avg", "exp_avg_sq"}) {}

protected:
    void update_memory(const UpdatePass& pass) const override {
        pass.run([&](const ChunkUpdate& chunk, std::size_t) {
            adamw_loop(chunk, coefficients(chunk.param));
        });
    }

    void update_tensor(const ParamUpdate& item) const override {
        const OptimPart& o = options();
        at::Tensor value = item.value, m = item.buffers[0], v = item.buffers[1];
        value.mul_(1 - item.lr * item.weight_decay);
        m.mul_(o.beta1).add_(item.grad, 1 - o.beta1);
        v.mul_(o.beta2).addcmul_(item.grad, item.grad, 1 - o.beta2);
        const at::Tensor denominator =
            v.sqrt().mul_(1 / std::sqrt(bias(o.beta2, item))).add_(o.epsilon);
        value.addcdiv_(m, denominator, -item.lr / bias(o.beta1, item));
    }

private:
    AdamWCoefficients coefficients(const ParamUpdate& item) const {
        const OptimPart& o = options();
        return {.keep = float(1 - item.lr * item.weight_decay),
                .beta1 = float(o.beta1),
                .rest1 = float(1 - o.beta1),
                .beta2 = float(o.beta2),
                .rest2 = float(1 - o.beta2),
                .root_scale = float(1 / std::sqrt(bias(o.beta2, item))),
                .epsilon = float(o.epsilon),
                .rate = float(item.lr / bias(o.beta1, item))};
    }
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimPart& options,
                                      std::span<const TrainParam> params) {
    return std::make_unique<AdamW>(options, params);
}

}  // namespace cait
