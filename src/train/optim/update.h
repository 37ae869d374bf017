// One step over the memory of all parameters: the loop that the optimisers share. An optimiser says
// what happens to one chunk.
#pragma once

#include "train/torch/libtorch.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "train/optim/chunks.h"

namespace cait {

// One parameter in one step.
struct ParamUpdate {
    at::Tensor value;
    at::Tensor grad;
    std::span<at::Tensor> buffers;  // in the order of the optimiser's names
    double lr = 0;
    double weight_decay = 0;
    std::int64_t missed = 0;  // steps that it had no gradient in
};

// A piece of one parameter's memory; the four never overlap.
struct ChunkUpdate {
    const ParamUpdate& param;
    std::size_t index = 0;  // of the parameter
    float* value = nullptr;
    const float* grad = nullptr;
    std::array<float*, 2> buffers{};
    std::int64_t count = 0;
};

class UpdatePass {
public:
    // All tensors of all parameters are contiguous float32 on the CPU.
    explicit UpdatePass(std::span<const ParamUpdate> params);

    std::size_t chunks() const { return chunks_.size(); }

    // Calls body(chunk, number of the chunk) for each one, on as many threads as LibTorch uses.
    void run(const std::function<void(const ChunkUpdate& chunk, std::size_t number)>& body) const;

    // Adds up per parameter what was found per chunk, in the order of the chunks.
    std::vector<double> per_param(std::span<const double> per_chunk) const;

private:
    std::span<const ParamUpdate> params_;
    std::vector<Chunk> chunks_;
};

}  // namespace cait
