// Stochastic gradient descent with momentum, as PyTorch has it: weight decay joins the gradient,
// and the momentum gathers gradients undamped.
#include "train/optim/optimizer.h"

namespace cait {

namespace {

struct SgdCoefficients {
    float decay;
    float momentum;
    float lookahead;  // of the gradient in the step: 1 with Nesterov's rule, else 0
    float gathered;   // of the gathered gradients: the momentum with Nesterov's rule, else 1
    float rate;
};

void sgd_loop(const ChunkUpdate& chunk, SgdCoefficients c) {
    float* __restrict__ value = chunk.value;
    const float* __restrict__ grad = chunk.grad;
    float* __restrict__ buffer = chunk.buffers[0];
    for (std::int64_t i = 0; i < chunk.count; ++i) {
        const float g = grad[i] + c.decay * value[i];
        const float gathered = c.momentum * buffer[i] + g;
        buffer[i] = gathered;
        value[i] -= c.rate * (c.lookahead * g + c.gathered * gathered);
    }
}

class Sgd final : public Optimizer {
public:
    Sgd(const OptimPart& options, std::span<const TrainParam> params)
        : Optimizer(options, params, {"momentum"}) {}

protected:
    void update_memory(const UpdatePass& pass) const override {
        pass.run([&](const ChunkUpdate& chunk, std::size_t) {
            sgd_loop(chunk, coefficients(chunk.param));
        });
    }

    void update_tensor(const ParamUpdate& item) const override {
        at::Tensor value = item.value, buffer = item.buffers[0];
        const at::Tensor grad = item.grad.add(value, item.weight_decay);
        buffer.mul_(options().momentum).add_(grad);
        const at::Tensor step = options().nesterov ? grad.add(buffer, options().momentum) : buffer;
        value.add_(step, -item.lr);
    }

private:
    SgdCoefficients coefficients(const ParamUpdate& item) const {
        const auto momentum = float(options().momentum);
        return {.decay = float(item.weight_decay),
                .momentum = momentum,
                .lookahead = options().nesterov ? 1.0F : 0.0F,
                .gathered = options().nesterov ? momentum : 1.0F,
                .rate = float(item.lr)};
    }
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimPart& options, std::span<const TrainParam> params) {
    return std::make_unique<Sgd>(options, params);
}

}  // namespace cait
