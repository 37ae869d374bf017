// Models with a class and a distillation head, as the thesis joins them: the sum of both heads'
// probabilities decides, not the mean of their logits.
#pragma once

#include "models/executor.h"

namespace cait {

// log of the mean of softmax(a) and softmax(b), row by row: logits whose softmax is that mean.
Tensor fused_by_probability(const Tensor& a, const Tensor& b);

class LateFusionExecutor final : public Executor {
public:
    // `executor` must outlive this, and its model have both heads.
    explicit LateFusionExecutor(const Executor& executor) : executor_(executor) {}

    // "logits" are those of fused_by_probability(); the other outputs are as they were.
    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override;

private:
    const Executor& executor_;
};

}  // namespace cait
