#include "torch/blas_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kBuffer = std::size_t{128} << 20;  // OpenBLAS 0.3 on x86-64
constexpr std::size_t kBeside = std::size_t{32} << 20;   // what others take meanwhile

bool address_space_is_limited() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool can_map(std::size_t bytes) {
    void* place =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return false;
    ::munmap(place, bytes);
    return true;
}

}  // namespace

void claim_blas_memory(int threads) {
    static std::atomic<int> claimed = 0;  // the BLAS is the process's own
    if (threads <= claimed || !address_space_is_limited()) return;
    const std::size_t needed = std::size_t(threads - claimed) * kBuffer + kBeside;
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
