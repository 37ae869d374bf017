#include "train/optim/chunks.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/parallel.h"

namespace cait {

std::vector<Chunk> split(std::span<const std::int64_t> counts) {
    std::vector<Chunk> chunks;
    for (std::size_t tensor = 0; tensor < counts.size(); ++tensor)
        for (std::int64_t begin = 0; begin < counts[tensor]; begin += kChunkSize)
            chunks.push_back({tensor, begin, std::min(begin + kChunkSize, counts[tensor])});
    return chunks;
}

void for_each_chunk(std::span<const Chunk> chunks,
                    const std::function<void(const Chunk& chunk, std::size_t index)>& body) {
    const auto count = std::int64_t(chunks.size());
    const int workers =
        int(std::clamp<std::int64_t>(at::get_num_threads(), 1, std::max<std::int64_t>(count, 1)));
    kernels::run_workers(workers, [&](int worker) {
        const auto [begin, end] = kernels::share_of(count, worker, workers);
        for (std::int64_t i = begin; i < end; ++i) body(chunks[std::size_t(i)], std::size_t(i));
    });
}

std::vector<double> sum_per_tensor(std::span<const Chunk> chunks, std::span<const double> sums,
                                   std::size_t tensors) {
    std::vector<double> totals(tensors, 0.0);
    for (std::size_t i = 0; i < chunks.size(); ++i) totals[chunks[i].tensor] += sums[i];
    return totals;
}

double sum_of_squares(const float* values, std::int64_t count) {
    // Independent sums, which the compiler turns into vectors.
    constexpr std::int64_t kLanes = 16;
    std::array<double, kLanes> sums{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const auto value = double(values[i + lane]);
            sums[std::size_t(lane)] += value * value;
        }
    for (; i < count; ++i) sums[0] += double(values[i]) * double(values[i]);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

bool is_plain_memory(const at::Tensor& tensor) {
    return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace cait
