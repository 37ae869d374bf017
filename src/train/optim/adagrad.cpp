// Adagrad: "Adaptive Subgradient Methods for Online Learning", Duchi et al. 2011, as PyTorch has
// it: weight decay joins the gradient, the sum of squares starts at 0, epsilon stands beside its
// root. The rate of each number falls by itself, so that the schedule is usually constant.
#include <cmath>

#include "train/optim/optimizer.h"

namespace cait {

namespace {

struct AdagradCoefficients {
    float decay;
    float epsilon;
    float rate;
};

void adagrad_loop(const ChunkUpdate& chunk, AdagradCoefficients c) {
    float* __restrict__ value = chunk.value;
    const float* __restrict__ grad = chunk.grad;
    float* __restrict__ sum = chunk.buffers[0];
    for (std::int64_t i = 0; i < chunk.count; ++i) {
        const float g = grad[i] + c.decay * value[i];
        const float squares = sum[i] + g * g;
        sum[i] = squares;
        value[i] -= c.rate * (g / (std::sqrt(squares) + c.epsilon));
    }
}

class Adagrad final : public Optimizer {
public:
    Adagrad(const OptimPart& options, std::span<const TrainParam> params)
        : Optimizer(options, params, {"sum"}) {}

protected:
    void update_memory(const UpdatePass& pass) const override {
        pass.run([&](const ChunkUpdate& chunk, std::size_t) {
            adagrad_loop(chunk, {.decay = float(chunk.param.weight_decay),
                                 .epsilon = float(options().epsilon),
                                 .rate = float(chunk.param.lr)});
        });
    }

    void update_tensor(const ParamUpdate& item) const override {
        at::Tensor value = item.value, sum = item.buffers[0];
        const at::Tensor grad = item.grad.add(value, item.weight_decay);
        sum.addcmul_(grad, grad);
        value.addcdiv_(grad, sum.sqrt().add_(options().epsilon), -item.lr);
    }
};

}  // namespace

std::unique_ptr<Optimizer> make_adagrad(const OptimPart& options,
                                        std::span<const TrainParam> params) {
    return std::make_unique<Adagrad>(options, params);
}

}  // namespace cait
