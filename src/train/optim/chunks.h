// Passes over all parameters at once: their memory is cut into pieces of one size that does not
// depend on the number of threads, so neither does any result, sums included.
#pragma once

#include "train/torch/libtorch.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cait {

struct Chunk {
    std::size_t tensor = 0;  // which of the tensors
    std::int64_t begin = 0;  // elements
    std::int64_t end = 0;    // behind the last one
};

// Elements of a chunk: large enough to hide the cost of handing it out, small enough for several
// streams of it to lie in a core's cache.
inline constexpr std::int64_t kChunkSize = 16384;

std::vector<Chunk> split(std::span<const std::int64_t> counts);

// Calls body(chunk, index) for each one, on as many threads as LibTorch uses.
void for_each_chunk(std::span<const Chunk> chunks,
                    const std::function<void(const Chunk& chunk, std::size_t index)>& body);

// Adds up per tensor what was found per chunk, in the order of the chunks.
std::vector<double> sum_per_tensor(std::span<const Chunk> chunks, std::span<const double> sums,
                                   std::size_t tensors);

// In double, with a fixed order of additions; not finite exactly when one of the values is not.
double sum_of_squares(const float* values, std::int64_t count);

// True for what the loops over raw memory can take.
bool is_plain_memory(const at::Tensor& tensor);

}  // namespace cait
