// Test-time augmentation: every answer is the mean of those to the image and to its mirror image.
#pragma once

#include "models/executor.h"

namespace cait {

class FlipExecutor final : public Executor {
public:
    // `executor` must outlive this. For outputs that belong to the whole image, such as logits.
    explicit FlipExecutor(const Executor& executor) : executor_(executor) {}

    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override;

private:
    const Executor& executor_;
};

}  // namespace cait
