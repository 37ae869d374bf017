// Turns gradients into steps. On the CPU a step is one pass over the memory of all parameters
// (LAMB: two); elsewhere, or for other number formats, the same formulas run on LibTorch's
// operations.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/optim/update.h"
#include "train/parameters.h"
#include "train/recipe/recipe.h"
#include "train/run/tensor_state.h"

namespace cait {

class Optimizer {
public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    // Reads the parameters' gradients. A parameter without one stays as it is.
    void step(double lr);

    // Of the steps that follow, where a schedule moves it.
    void set_weight_decay(double weight_decay) { options_.weight_decay = weight_decay; }

    // Forgets the gradients, so that the next backward pass starts new ones.
    void zero_grad();

    // Everything that a step depends on beside parameters and gradients: "step" (int64),
    // BUFFER.NAME and, of parameters that do not learn at first, "missed.NAME" (int64). The tensors
    // are shared: copy them before the next step, or write them out.
    TensorState state() const;

    // Continues bit for bit where state() was taken. Throws Error that names a tensor which is
    // missing, left over, or of another shape or type; nothing has changed then.
    void load_state(const std::map<std::string, at::Tensor>& state);

    // Steps that were taken; within one, it is included.
    std::int64_t steps() const { return steps_.item<std::int64_t>(); }

protected:
    Optimizer(const OptimPart& options, std::span<const TrainParam> params,
              std::vector<std::string> buffers);

    // What is contiguous float32 on the CPU.
    virtual void update_memory(const UpdatePass& pass) const = 0;
    // Any device, any floating format.
    virtual void update_tensor(const ParamUpdate& param) const = 0;

    const OptimPart& options() const { return options_; }
    // What an average of gradients with this decay falls short of, as it started from 0.
    double bias(double beta, const ParamUpdate& param) const;

private:
    OptimPart options_;
    std::vector<TrainParam> params_;  // those that are trained
    std::vector<std::string> buffer_names_;
    std::vector<std::vector<at::Tensor>> buffers_;  // [parameter][buffer]
    std::vector<at::Tensor> missed_;                // int64; undefined: it never misses one
    at::Tensor steps_;                              // int64
};

// Throws UsageError that names a setting without sense.
std::unique_ptr<Optimizer> make_optimizer(const OptimPart& options,
                                          std::span<const TrainParam> params);

// What adamw.cpp, lamb.cpp, sgd.cpp and adagrad.cpp have; make_optimizer() chooses.
std::unique_ptr<Optimizer> make_adamw(const OptimPart& options, std::span<const TrainParam> params);
std::unique_ptr<Optimizer> make_lamb(const OptimPart& options, std::span<const TrainParam> params);
std::unique_ptr<Optimizer> make_sgd(const OptimPart& options, std::span<const TrainParam> params);
std::unique_ptr<Optimizer> make_adagrad(const OptimPart& options,
                                        std::span<const TrainParam> params);

}  // namespace cait
