// LAMB: "Large Batch Optimization for Deep Learning", You et al. 2019 (arXiv 1904.00962), as timm's
// Lamb and NVIDIA's FusedLAMB have it: bias correction, averaged gradients, weight decay inside the
// update, and the trust ratio |weights| / |update| only where there is weight decay. Both of them
// also clip the global norm of the gradients at 1; here that is optim.clip, off by default.
#include <algorithm>
#include <cmath>

#include "train/optim/optimizer.h"

namespace cait {

namespace {

struct LambCoefficients {
    float beta1, rest1;
    float beta2, rest2;
    float first_scale;  // makes the first moment unbiased
    float root_scale;   // makes the root of the second moment unbiased
    float epsilon;
    float decay;
};

// Sums of squares of a chunk.
struct Squares {
    double values = 0;
    double updates = 0;
};

// Elements whose updates lie in the first-level cache between the two halves of a pass.
constexpr std::int64_t kBlock = 1024;

// The first pass moves both moments and measures; the second works the update out again from them,
// which is cheaper than to write it down and read it back.
void updates_of(const ChunkUpdate& at, std::int64_t begin, std::int64_t count,
                const LambCoefficients& c, float* __restrict__ out) {
    const float* __restrict__ value = at.value + begin;
    const float* __restrict__ m = at.buffers[0] + begin;
    const float* __restrict__ v = at.buffers[1] + begin;
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = (m[i] * c.first_scale) / (std::sqrt(v[i]) * c.root_scale + c.epsilon) +
                 c.decay * value[i];
}

void move_moments(const ChunkUpdate& at, const LambCoefficients& c) {
    const float* __restrict__ grad = at.grad;
    float* __restrict__ m = at.buffers[0];
    float* __restrict__ v = at.buffers[1];
    for (std::int64_t i = 0; i < at.count; ++i) {
        const float g = grad[i];
        m[i] = c.beta1 * m[i] + c.rest1 * g;
        v[i] = c.beta2 * v[i] + c.rest2 * (g * g);
    }
}

Squares measure(const ChunkUpdate& at, const LambCoefficients& c) {
    Squares squares;
    float updates[kBlock];
    for (std::int64_t begin = 0; begin < at.count; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, at.count - begin);
        updates_of(at, begin, count, c, updates);
        squares.values += sum_of_squares(at.value + begin, count);
        squares.updates += sum_of_squares(updates, count);
    }
    return squares;
}

void move_values(const ChunkUpdate& at, const LambCoefficients& c, float rate) {
    float updates[kBlock];
    for (std::int64_t begin = 0; begin < at.count; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, at.count - begin);
        updates_of(at, begin, count, c, updates);
        float* __restrict__ value = at.value + begin;
        for (std::int64_t i = 0; i < count; ++i) value[i] -= rate * updates[i];
    }
}

// From the squared norms of the weights and of the update.
double trust_ratio(double weights, double update) {
    return weights > 0 && update > 0 ? std::sqrt(weights) / std::sqrt(update) : 1;
}

class Lamb final : public Optimizer {
public:
    Lamb(const OptimPart& options, std::span<const TrainParam> params)
        : Optimizer(options, params, {"exp_avg", "exp_avg_sq"}) {}

protected:
    void update_memory(const UpdatePass& pass) const override {
        std::vector<double> values(pass.chunks(), 0.0), updates(pass.chunks(), 0.0);
        pass.run([&](const ChunkUpdate& chunk, std::size_t number) {
            const LambCoefficients c = coefficients(chunk.param);
            move_moments(chunk, c);
            if (chunk.param.weight_decay == 0) return;
            const Squares squares = measure(chunk, c);
            values[number] = squares.values;
            updates[number] = squares.updates;
        });
        const std::vector<double> weight_norms = pass.per_param(values);
        const std::vector<double> update_norms = pass.per_param(updates);
        pass.run([&](const ChunkUpdate& chunk, std::size_t) {
            const double ratio = trust_ratio(weight_norms[chunk.index], update_norms[chunk.index]);
            move_values(chunk, coefficients(chunk.param), float(chunk.param.lr * ratio));
        });
    }

    void update_tensor(const ParamUpdate& item) const override {
        const OptimPart& o = options();
        at::Tensor value = item.value, m = item.buffers[0], v = item.buffers[1];
        m.mul_(o.beta1).add_(item.grad, 1 - o.beta1);
        v.mul_(o.beta2).addcmul_(item.grad, item.grad, 1 - o.beta2);
        const at::Tensor denominator =
            v.sqrt().mul_(1 / std::sqrt(bias(o.beta2, item))).add_(o.epsilon);
        const at::Tensor update = (m / bias(o.beta1, item)).div_(denominator);
        double ratio = 1;
        if (item.weight_decay != 0) {
            update.add_(value, item.weight_decay);
            ratio = trust_ratio(squared_norm(value), squared_norm(update));
        }
        value.add_(update, -item.lr * ratio);
    }

private:
    static double squared_norm(const at::Tensor& tensor) {
        return tensor.to(at::kDouble).square().sum().item<double>();
    }

    LambCoefficients coefficients(const ParamUpdate& item) const {
        const OptimPart& o = options();
        return {.beta1 = float(o.beta1),
                .rest1 = float(1 - o.beta1),
                .beta2 = float(o.beta2),
                .rest2 = float(1 - o.beta2),
                .first_scale = float(1 / bias(o.beta1, item)),
                .root_scale = float(1 / std::sqrt(bias(o.beta2, item))),
                .epsilon = float(o.epsilon),
                .decay = float(item.weight_decay)};
    }
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const OptimPart& options, std::span<const TrainParam> params) {
    return std::make_unique<Lamb>(options, params);
}

}  // namespace cait
