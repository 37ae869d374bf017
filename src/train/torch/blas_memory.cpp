#include "train/torch/blas_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "cait/error.h"
#include "system/address_space.h"

namespace cait {

namespace {

constexpr std::uint64_t kBeside = std::uint64_t{32} << 20;  // what others take meanwhile

}  // namespace

void claim_blas_memory(int threads) {
    static std::atomic<int> claimed = 0;  // the BLAS is the process's own
    if (threads <= claimed || !address_space_limit()) return;
    const std::uint64_t needed = std::uint64_t(threads - claimed) * kBlasBuffer + kBeside;
    if (!can_map(needed))
        throw Error(fmt::format(
            "out of memory: LibTorch's BLAS needs {} MiB more for {} threads than `ulimit -v` "
            "allows (less with OMP_NUM_THREADS=1)",
            needed >> 20, threads));
    claimed = threads;
    // Its own functions, which it exports; another BLAS has none of that name.
    using Take = void* (*)(int);
    using Free = void (*)(void*);
    const auto take = reinterpret_cast<Take>(::dlsym(RTLD_DEFAULT, "blas_memory_alloc"));
    const auto free = reinterpret_cast<Free>(::dlsym(RTLD_DEFAULT, "blas_memory_free"));
    if (take == nullptr || free == nullptr) return;
    std::vector<void*> buffers;
    buffers.reserve(std::size_t(threads));
    while (int(buffers.size()) < threads) buffers.push_back(take(0));
    for (void* buffer : buffers) free(buffer);
}

}  // namespace cait
