#include "train/optim/update.h"

#include <algorithm>

namespace cait {

UpdatePass::UpdatePass(std::span<const ParamUpdate> params) : params_(params) {
    std::vector<std::int64_t> counts;
    for (const ParamUpdate& param : params) counts.push_back(param.value.numel());
    chunks_ = split(counts);
}

void UpdatePass::run(
    const std::function<void(const ChunkUpdate& chunk, std::size_t number)>& body) const {
    for_each_chunk(chunks_, [&](const Chunk& chunk, std::size_t number) {
        const ParamUpdate& param = params_[chunk.tensor];
        ChunkUpdate update{.param = param,
                           .index = chunk.tensor,
                           .value = param.value.data_ptr<float>() + chunk.begin,
                           .grad = param.grad.data_ptr<float>() + chunk.begin,
                           .count = chunk.end - chunk.begin};
        for (std::size_t i = 0; i < std::min(param.buffers.size(), update.buffers.size()); ++i)
            update.buffers[i] = param.buffers[i].data_ptr<float>() + chunk.begin;
        body(update, number);
    });
}

std::vector<double> UpdatePass::per_param(std::span<const double> per_chunk) const {
    return sum_per_tensor(chunks_, per_chunk, params_.size());
}

}  // namespace cait
